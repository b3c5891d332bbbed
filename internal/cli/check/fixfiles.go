package check

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// fix writes what is proposed into the files, and returns the changes that it wrote, and those that it cannot write.
func (l *loaded) fix(input *source.Input, hold func() (release func())) (fixed []report.Fixed, notFixed []report.NotFixed, _ error) {
	files := l.propose(input)
	for _, f := range files {
		if !bytes.HasSuffix(f.data, []byte(f.text)) {
			f.fixed = f.text
			for _, p := range slices.Concat(f.proposals...) {
				p.why = "the file is in UTF-16; convert it to UTF-8"
			}
		}
	}
	told := map[*proposal]bool{}
	for _, r := range l.routes {
		made, _ := report.ChangesOf(&mutate.Plan{Changes: r.plan.Changes, Mode: mesh.Enforce}) // in the files, all are made
		for i, p := range r.proposals {
			if told[p] {
				continue
			}
			told[p] = true
			made[i].Line = p.Line
			of := report.Fixed{File: p.File, Route: r.Key.String(), Change: made[i]}
			if p.why == "" {
				fixed = append(fixed, of)
			} else {
				notFixed = append(notFixed, report.NotFixed{Fixed: of, Reason: p.why})
			}
		}
	}
	if hold != nil && len(fixed) > 0 {
		defer hold()()
	}
	for _, f := range files {
		if f.fixed == f.text {
			continue
		}
		mark := strings.TrimSuffix(string(f.data), f.text)
		if err := overwrite(f.name, mark+f.fixed); err != nil {
			return nil, nil, err
		}
	}
	return fixed, notFixed, nil
}

// overwrite puts the content in the place of the old in one step: the file is never
// seen half written. A symbolic link stays one.
func overwrite(name, content string) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(content)
	if err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
