package check

import (
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/cli/fix"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// propose finds the edits that make the mutations in the files. Those of a file that can
// only be edited by hand stay unknown.
func (l *loaded) propose(input *source.Input) {
	routes := map[*source.File][]*route{}
	for _, r := range l.routes {
		if len(r.plan.Changes) > 0 && r.Written == r.Object && r.file.Name != report.Stdin {
			routes[r.file] = append(routes[r.file], r)
		}
	}
	for f, of := range routes {
		var jobs []fix.Job
		for _, r := range of {
			jobs = append(jobs, fix.Job{Object: r.Object, Changes: r.plan.Changes})
		}
		data, err := input.Disk.Read(f.Name)
		text := string(yaml.UTF8(data))
		if err != nil {
			continue // it has gone since
		}
		edits, err := fix.Edits(text, jobs)
		if err != nil {
			continue
		}
		for i, r := range of {
			r.edits = positions(text, edits[i])
		}
	}
}

// positions returns the edits by lines and columns.
func positions(text string, edits []fix.Edit) []*report.Edit {
	at := func(offset int) (line, column int) {
		before := text[:offset]
		start := strings.LastIndexByte(before, '\n') + 1
		return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
	}
	var found []*report.Edit
	for _, e := range edits {
		edit := &report.Edit{Text: e.Text}
		edit.StartLine, edit.StartColumn = at(e.From)
		edit.EndLine, edit.EndColumn = at(e.To)
		found = append(found, edit)
	}
	return found
}
