package runner

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/validate"
)

// memorySession plays a scenario over a memory.
type memorySession struct {
	*memory
	admission admission
}

// admission is what the memory asks before it stores a route.
type admission interface {
	// admit judges the change, and changes its object as mutation does.
	admit(ctx context.Context, c *change, user validate.User, dryRun bool) (*Outcome, error)
	// entries returns what the route's status must say, in the place of the
	// controller's present entries.
	entries(route *manifest.Object) (entries []Entry, controller string, err error)
	// close lets go of what it holds.
	close() error
}

func (s *memorySession) Put(_ context.Context, documents []*Document) error {
	for _, document := range documents {
		if err := s.put(document); err != nil {
			return fmt.Errorf("%s (%s): %w", document.Key, document.Place, err)
		}
	}
	return nil
}

func (s *memorySession) Delete(_ context.Context, documents []*Document) error {
	for _, document := range documents {
		if err := s.remove(document.Key); err != nil {
			return err
		}
	}
	return nil
}

// Apply judges routes. Other documents are stored if they are to be admitted, and
// routes that another part of an API server denies are passed over.
func (s *memorySession) Apply(ctx context.Context, document *Document) (*Outcome, error) {
	if document.Want != nil && document.Want.ByOthers() {
		return nil, nil
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	c, err := s.apply(document)
	if err != nil {
		return nil, err
	}
	if !document.IsRoute() {
		if document.DryRun {
			return nil, nil
		}
		return nil, s.store(c)
	}
	if c.unchanged {
		text, err := json.Marshal(c.old)
		return &Outcome{Rules: []string{}, Warnings: []string{}, Object: text}, err
	}
	outcome, err := s.admission.admit(ctx, c, UserOf(document.User), document.DryRun)
	if err != nil {
		return nil, err
	}
	if !outcome.Denied {
		s.schemas.setDefaults(c.key, c.version, c.object)
		if !document.DryRun {
			err = s.store(c)
		}
		if err == nil {
			outcome.Object, err = json.Marshal(c.object)
		}
	}
	return outcome, err
}

func (s *memorySession) Status(_ context.Context, key manifest.Key, _ func([]Entry) bool) ([]Entry, error) {
	route := s.set.Get(key)
	if route == nil {
		return nil, nil
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	_, controller, err := s.admission.entries(route)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s.objects[key])
	if err != nil {
		return nil, err
	}
	return entriesOf(text, controller)
}

// settle writes status as the reconciler would: entries of other controllers
// stay, and none is written beyond what the list may hold.
func (s *memorySession) settle() error {
	for _, route := range s.set.Routes() {
		entries, controller, err := s.admission.entries(route)
		if err != nil {
			return err
		}
		object := s.objects[route.Key]
		status, _ := object["status"].(map[string]any)
		parents, _ := status["parents"].([]any)
		parents = slices.DeleteFunc(slices.Clone(parents), func(parent any) bool {
			fields, _ := parent.(map[string]any)
			return fields["controllerName"] == controller
		})
		for i := range entries[:min(len(entries), maxParents-len(parents))] {
			text, err := json.Marshal(&entries[i])
			if err != nil {
				return err
			}
			var parent map[string]any
			if err := json.Unmarshal(text, &parent); err != nil {
				return err
			}
			parents = append(parents, parent)
		}
		if len(parents) > 0 || status != nil {
			object["status"] = map[string]any{"parents": parents}
		}
	}
	return nil
}

// maxParents is how many entries status.parents may have.
const maxParents = 32

func (s *memorySession) End(context.Context) error { return s.admission.close() }
