// Package fix writes mutations into the text of the file that a route was read
// from. It edits the text at the place of the field and leaves everything else as
// it is, byte for byte: comments, order, quotes, indentation, line endings.
//
// Every edit is verified before it is used: the new text must hold the same objects
// as before with the mutations made and nothing else changed. What cannot be edited
// so, such as an anchor that other objects share, is refused.
package fix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
)

// Job is an object of a file with the changes to be made to it.
type Job struct {
	Object  *manifest.Object
	Changes []mutate.Change
}

// Apply returns the file's text with the changes made. The error says why one of
// them cannot be; there is no text then.
func Apply(text string, jobs []Job) (string, error) {
	edits, err := plan(text, jobs)
	if err != nil {
		return "", err
	}
	fixed := perform(text, edits)
	if err := verify(text, fixed, jobs); err != nil {
		return "", err
	}
	return fixed, nil
}

// edit replaces text[from:to].
type edit struct {
	from, to int
	text     string
}

// plan returns the edits by offset. Objects that share an anchor share an edit.
func plan(text string, jobs []Job) ([]edit, error) {
	var edits []edit
	planned := map[edit]bool{}
	lines := lineStarts(text)
	for _, job := range jobs {
		p, err := locate(text, lines, job.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", job.Object.Key, err)
		}
		for i := range job.Changes {
			e, err := p.edit(&job.Changes[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", job.Object.Key, job.Changes[i].Path, err)
			}
			e.from, e.to = e.from+p.start, e.to+p.start
			if !planned[e] {
				planned[e] = true
				edits = append(edits, e)
			}
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	return edits, nil
}

func perform(text string, edits []edit) string {
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if e.from < at {
			continue // two edits of one place: verify finds the result wanting
		}
		out.WriteString(text[at:e.from] + e.text)
		at = e.to
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
