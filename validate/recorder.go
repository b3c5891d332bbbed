package validate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// recorder is a Reader that records its reads. The reads of a denial must be confirmed
// before it is answered.
type recorder struct {
	world mesh.Reader
	reads []mesh.Read
	// kept is where since puts them.
	kept []mesh.Read
	// recent are the Services that were read last, in turn: nearly all rules ask for the
	// same few.
	recent [4]struct {
		key     mesh.ServiceKey
		service *mesh.Service
		err     error
	}
	oldest int
}

func newRecorder(world mesh.Reader) *recorder {
	const each, all = 8, 32 // as many as most rules read, and most parents
	room := make([]mesh.Read, all)
	return &recorder{world: world, reads: room[:0:each], kept: room[each:each]}
}

// begin clears the recorded reads.
func (r *recorder) begin() { r.reads = r.reads[:0] }

// mark returns the place in the record, for since.
func (r *recorder) mark() int {
	if r == nil {
		return 0
	}
	return len(r.reads)
}

// since returns what has been recorded since the mark.
func (r *recorder) since(mark int) []mesh.Read {
	if r == nil {
		return nil
	}
	from := len(r.kept)
	r.kept = append(r.kept, r.reads[mark:]...)
	return slices.Clip(r.kept[from:])
}

// again records reads whose results were kept.
func (r *recorder) again(reads []mesh.Read) { r.reads = append(r.reads, reads...) }

func (r *recorder) record(read mesh.Read) { r.reads = append(r.reads, read) }

// Object implements mesh.ObjectReader. It is never read from a cache, so there is nothing
// to record.
func (r *recorder) Object(key mesh.ObjectKey) error {
	if objects, ok := r.world.(mesh.ObjectReader); ok {
		return objects.Object(key)
	}
	return mesh.ErrUnknown
}

// Namespace implements mesh.Reader.
func (r *recorder) Namespace(name string) (*mesh.Namespace, error) {
	r.record(mesh.Read{Kind: mesh.ReadNamespace, Namespace: name})
	return r.world.Namespace(name)
}

// Service implements mesh.Reader.
func (r *recorder) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	r.record(mesh.Read{Kind: mesh.ReadService, Service: key})
	for i := range r.recent {
		if recent := &r.recent[i]; recent.key == key {
			return recent.service, recent.err
		}
	}
	read := &r.recent[r.oldest%len(r.recent)]
	r.oldest++
	read.key = key
	read.service, read.err = r.world.Service(key)
	return read.service, read.err
}

// HasEndpoints implements mesh.Reader.
func (r *recorder) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	r.record(mesh.Read{Kind: mesh.ReadEndpoints, Service: key})
	return r.world.HasEndpoints(key)
}

// ReferenceGrants implements mesh.Reader.
func (r *recorder) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	r.record(mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: namespace})
	return r.world.ReferenceGrants(namespace)
}

// AttachedRoutes implements mesh.Reader.
func (r *recorder) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	r.record(mesh.Read{Kind: mesh.ReadRoutes, Service: key, Namespace: namespace})
	return r.world.AttachedRoutes(key, namespace)
}
