package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/live"
	"github.com/gammaguard/gammaguard/mutate"
)

// mutating answers by the changes that package mutate makes. If a mutation
// fails, it admits the route unchanged; the validating webhook then checks it.
type mutating struct {
	Options
	grants *mesh.GrantPolicy
	off    map[string]bool
}

// Mutating returns the handler that mutates routes. A mutation that reads another
// namespace requires the grants. off are the disabled mutations.
func Mutating(options Options, grants *mesh.GrantPolicy, off map[string]bool) http.Handler {
	m := &mutating{options, grants, off}
	return options.handler("mutate", m.answer)
}

func (m *mutating) answer(ctx context.Context, r *review, fault *objectError) answer {
	if fault != nil {
		return answer{outcome: malformed}
	}
	if err := m.ready(ctx, r); err != nil {
		return answer{outcome: failed}
	}
	changes := m.changes(ctx, r)
	if len(changes) == 0 || r.Operation == operationUpdate && r.specUnchanged() {
		return admit
	}
	patch, err := json.Marshal(mutate.Patch(changes))
	if err != nil {
		m.Log.Error(err, "Failed to mutate the route", "route", shortened(r.Object.String()))
		return answer{outcome: failed}
	}
	texts := make([]string, len(changes))
	for i := range changes {
		texts[i] = warning(changes[i].Warning(), changes[i].ID)
	}
	return answer{patch: patch, warnings: bounded(texts), audit: changesAnnotation(changes), outcome: mutated}
}

func (m *mutating) changes(ctx context.Context, r *review) []mutate.Change {
	options := mutate.Options{Off: m.off}
	if m.Live == nil {
		options.MayRead = mutate.Granted(r.Object, m.grants, m.Reader)
		return mutate.Changes(r.Object, m.Reader, options)
	}
	confirmed, _ := m.confirmed(ctx, r)
	reader := fallbackReader{confirmed}
	options.MayRead = mutate.Granted(r.Object, m.grants, reader)
	return mutate.Changes(r.Object, reader, options)
}

// fallbackReader is a mutate.Confirmer that reads live what the cache does not have.
type fallbackReader struct{ *live.Confirmed }

// Service implements mutate.Reader.
func (f fallbackReader) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	return orLive(f, f.Confirmed.Service, key, mesh.Read{Kind: mesh.ReadService, Service: key})
}

// Namespace implements mutate.Reader.
func (f fallbackReader) Namespace(name string) (*mesh.Namespace, error) {
	return orLive(f, f.Confirmed.Namespace, name, mesh.Read{Kind: mesh.ReadNamespace, Namespace: name})
}

// orLive gets an object, again after a live read if the cache does not have it.
func orLive[K, T any](f fallbackReader, get func(K) (T, error), key K, read mesh.Read) (T, error) {
	object, err := get(key)
	if errors.Is(err, mesh.ErrNotFound) {
		if _, err := f.Read([]mesh.Read{read}); err != nil {
			return object, err
		}
		return get(key)
	}
	return object, err
}
