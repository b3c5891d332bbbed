package fix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

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
	starts := lineStarts(text)
	for _, job := range jobs {
		d, err := locate(text, starts, job.Object)
		if err != nil {
			return nil, err
		}
		for i := range job.Changes {
			e, err := d.edit(&job.Changes[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", job.Object.Key, job.Changes[i].Path, err)
			}
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
	var out []byte
	at := 0
	for _, e := range edits {
		if e.from < at {
			continue // two edits of one place: verify finds the result wanting
		}
		out = append(out, text[at:e.from]...)
		out = append(out, e.text...)
		at = e.to
	}
	return string(append(out, text[at:]...))
}

// verify compares the objects of both texts.
func verify(before, after string, jobs []Job) error {
	const namespace = "default"
	old, oldErrs := manifest.ReadUndecoded("", []byte(before), namespace)
	got, gotErrs := manifest.ReadUndecoded("", []byte(after), namespace)
	if len(old) != len(got) || len(oldErrs) != len(gotErrs) {
		return fmt.Errorf("the edited text would hold %d objects in place of %d", len(got), len(old))
	}
	changes := map[spot][]mutate.Change{}
	for _, job := range jobs {
		changes[spotOf(job.Object)] = job.Changes
	}
	for i := range old {
		want, err := mutate.Apply(old[i].JSON, changes[spotOf(old[i])])
		if err != nil {
			return err
		}
		if !equal(want, got[i].JSON) {
			return fmt.Errorf("%s (line %d) would not become what it should: does it share an anchor with another object?",
				old[i].Key, old[i].Line(""))
		}
	}
	return nil
}

// spot tells the objects of a file apart.
type spot struct{ document, item int }

func spotOf(o *manifest.Object) spot {
	_, _, item := o.Source()
	return spot{o.Origin.Document, item}
}

func equal(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
