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
	return &recorder{world: world, reads: make([]mesh.Read, 0, 8)} // as many as most rules read
}

// begin clears the recorded reads.
func (r *recorder) begin() { r.reads = r.reads[:0] }

// during returns what f reads.
func (r *recorder) during(f func()) []mesh.Read {
	before := len(r.reads)
	f()
	return slices.Clone(r.reads[before:])
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
