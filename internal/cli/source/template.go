package source

import (
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// maxCompared is how often lines of the templates of a set are compared with lines that Helm made: each takes about
// 0.1 microseconds.
const maxCompared = 50_000_000

// template is a template of a chart, and what Helm made of it, both in lines.
type template struct {
	text, made string
	split      sync.Once
	lines      []pattern
	madeLines  []string
	// kinds and madeKinds are those that the document of each line says it has; empty where it says none, as where a helper does.
	kinds, madeKinds []string
	// separated and madeSeparated count the separators of documents as far as each line.
	separated, madeSeparated []int
	// compared counts what the set compared.
	compared *atomic.Int64
}

// line returns the line of the template that made the line, both from 1: one with the same text around its actions, and
// of several the one below the most lines that made those above, or else of the same document, counted from the end where
// Helm made more. What a line calls in, such as a helper, is on the line that it is called in on, or else on one above. It
// is 1 where that is not known, and where too much was compared.
func (t *template) line(made int) int {
	t.split.Do(func() {
		t.madeLines = strings.Split(t.made, "\n")
		for line := range strings.SplitSeq(t.text, "\n") {
			t.lines = append(t.lines, patternOf(strings.TrimSpace(line)))
		}
		lines := strings.Split(t.text, "\n")
		t.kinds, t.madeKinds = kindsOf(lines), kindsOf(t.madeLines)
		t.separated, t.madeSeparated = separatorsOf(lines), separatorsOf(t.madeLines)
	})
	for at := min(made, len(t.madeLines)) - 1; at >= 0 && t.compared.Load() < maxCompared; at-- {
		if found := t.find(at); found >= 0 {
			return found + 1
		}
	}
	return 1
}

// find returns the index of the template's line that made a line, or -1.
func (t *template) find(at int) int {
	best, most := -1, -1
	for i := range t.lines {
		if !t.makes(i, at) {
			continue
		}
		if above := t.above(i, at); above > most || above == most && t.alike(i, at) && !t.alike(best, at) {
			best, most = i, above
		}
	}
	return best
}

// alike reports whether the lines are of the same document: where Helm made more documents than are written, a range made those above.
func (t *template) alike(line, made int) bool {
	more := t.madeSeparated[len(t.madeSeparated)-1] - t.separated[len(t.separated)-1]
	return t.separated[line] == t.madeSeparated[made]-max(more, 0)
}

// separatorsOf counts the separators of documents as far as each line.
func separatorsOf(lines []string) (counts []int) {
	count := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "---") {
			count++
		}
		counts = append(counts, count)
	}
	return counts
}

// kindsOf returns for each line the kind of its document, as far as it is written there.
func kindsOf(lines []string) []string {
	kinds, begin, found := make([]string, len(lines)), 0, map[string]bool{}
	end := func(at int) {
		if len(found) == 1 { // of several, conditions choose
			for kind := range found {
				for i := begin; i < at; i++ {
					kinds[i] = kind
				}
			}
		}
		begin, found = at, map[string]bool{}
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "---") {
			end(i)
		}
		if name, is := strings.CutPrefix(line, "kind:"); is {
			found[strings.Trim(name, " \"'\r")] = true
		}
	}
	end(len(lines))
	return kinds
}

// makes reports whether the line of the template has text, and the made line has it too, in a document of the same kind.
func (t *template) makes(line, made int) bool {
	t.compared.Add(1)
	if kind := t.kinds[line]; kind != "" && !strings.Contains(kind, "{{") && t.madeKinds[made] != "" && kind != t.madeKinds[made] {
		return false
	}
	return t.lines[line].hasText() && t.lines[line].fills(strings.TrimSpace(t.madeLines[made]))
}

// above counts the lines above both that the template's lines made.
func (t *template) above(line, made int) (count int) {
	for i, j := line-1, made-1; i >= 0 && j >= 0; {
		switch {
		case !t.lines[i].hasText():
			i--
		case strings.TrimSpace(t.madeLines[j]) == "":
			j--
		case t.makes(i, j):
			count, i, j = count+1, i-1, j-1
		default:
			return count
		}
	}
	return count
}

// pattern is a text of a template, without its actions: the parts around them.
type pattern []string

// action is what a template puts into a text.
var action = regexp.MustCompile(`\{\{.*?\}\}`)

func patternOf(text string) pattern { return action.Split(text, -1) }

// hasText reports whether the template has more than actions.
func (p pattern) hasText() bool { return strings.TrimSpace(strings.Join(p, "")) != "" }

// fills reports whether the text has the parts of the template, in their order.
func (p pattern) fills(text string) bool {
	text, begins := strings.CutPrefix(text, p[0])
	if len(p) == 1 || !begins {
		return begins && text == ""
	}
	last := len(p) - 1
	for _, part := range p[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, p[last])
}
