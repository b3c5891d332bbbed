// Package fix writes mutations into the text of the file that a route was read
// from. It edits the text at the place of the field and leaves everything else as
// it is, byte for byte: comments, order, quotes, indentation, line endings.
//
// Every edit is verified before it is used: the new text must hold the same objects
// as before with the mutations made and nothing else changed. What cannot be edited
// so, such as an anchor that other objects share, is refused.
package fix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mutate"
)

// Job is an object of a file with the changes to be made to it.
type Job struct {
	Object  *manifest.Object
	Changes []mutate.Change
}

// Apply returns the file's text with the changes made that can be, and for each change of each job the edit that makes it, or
// why it cannot be made.
func Apply(text string, jobs []Job) (fixed string, edits [][]Edit, refused [][]error) {
	edits, refused = plan(text, jobs)
	made := make([]Job, len(jobs))
	for i, job := range jobs {
		made[i].Object = job.Object
		for j := range job.Changes {
			if refused[i][j] == nil {
				made[i].Changes = append(made[i].Changes, job.Changes[j])
			}
		}
	}
	fixed = perform(text, edits)
	if err := verify(text, fixed, made); err != nil {
		for i := range refused {
			for j := range refused[i] {
				refused[i][j] = cmp.Or(refused[i][j], err)
			}
		}
		fixed = text
	}
	return fixed, edits, refused
}

// Edit replaces a part of a text.
type Edit struct {
	// From and To are byte offsets; To is that of the first byte that stays.
	From, To int
	Text     string
}

// plan returns the edit of each change of each job, or why it cannot be made; its edit is then empty.
func plan(text string, jobs []Job) (edits [][]Edit, refused [][]error) {
	edits, refused = make([][]Edit, len(jobs)), make([][]error, len(jobs))
	lines := lineStarts(text)
	for i, job := range jobs {
		edits[i], refused[i] = make([]Edit, len(job.Changes)), make([]error, len(job.Changes))
		p, err := locate(text, lines, job.Object)
		for j := range job.Changes {
			if refused[i][j] = err; err != nil {
				continue
			}
			e, err := p.edit(&job.Changes[j])
			if refused[i][j] = err; err == nil {
				edits[i][j] = Edit{e.From + p.start, e.To + p.start, e.Text}
			}
		}
	}
	return edits, refused
}

// perform makes the edits. Objects that share an anchor share an edit.
func perform(text string, planned [][]Edit) string {
	edits := slices.Concat(planned...)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.From - b.From })
	done := map[Edit]bool{}
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if done[e] || e.From < at {
			continue // two edits of one place: verify rejects the result
		}
		done[e] = true
		out.WriteString(text[at:e.From] + e.Text)
		at = e.To
	}
	return out.String() + text[at:]
}

// verify compares the objects of both texts.
func verify(before, after string, jobs []Job) error {
	const namespace = "default"
	old, oldErrs := manifest.ReadUndecoded("", []byte(before), namespace)
	got, gotErrs := manifest.ReadUndecoded("", []byte(after), namespace)
	if len(old) != len(got) || len(oldErrs) != len(gotErrs) {
		return fmt.Errorf("the edited text would have %d objects instead of %d", len(got), len(old))
	}
	changes := map[[2]int][]mutate.Change{}
	for _, job := range jobs {
		changes[spot(job.Object)] = job.Changes
	}
	for i := range old {
		want, err := mutate.Apply(old[i].JSON, changes[spot(old[i])])
		if err != nil {
			return err
		}
		if !equal(want, got[i].JSON) {
			return fmt.Errorf("%s (line %d) cannot be edited on its own: it may share an anchor with another object",
				old[i].Key, old[i].Line(""))
		}
	}
	return nil
}

// spot tells the objects of a file apart.
func spot(o *manifest.Object) [2]int {
	_, _, item := o.Source()
	return [2]int{o.Origin.Document, item}
}

// equal compares two JSON texts.
func equal(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
