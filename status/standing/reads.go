package standing

import (
	"hash/maphash"

	"github.com/gammaguard/gammaguard/mesh"
)

// reads are a set of reads in a Bloom filter: small, and it may have some more than were
// added. These cost a judgement that changes nothing.
type reads uint64

// seed is for the hashes of this process.
var seed = maphash.MakeSeed()

// bits are the four, or fewer, that stand for the read: of sets of five reads, one in 200
// has a read that was not added.
func bits(read mesh.Read) (bits reads) {
	h := maphash.Comparable(seed, read)
	for range 4 {
		bits |= 1 << (h % 64)
		h /= 64
	}
	return bits
}

// has reports whether the bits are in the set.
func (r reads) has(bits reads) bool { return r&bits == bits }

// recorder is a Reader that records what a route of a namespace is judged by. The
// namespace itself is left out: it concerns all its routes.
type recorder struct {
	mesh.Reader
	namespace string
	// all are the reads, and foreign are those of other namespaces.
	all, foreign reads
}

func (r *recorder) record(read mesh.Read) {
	if read == (mesh.Read{Kind: mesh.ReadNamespace, Namespace: r.namespace}) {
		return
	}
	b := bits(read)
	r.all |= b
	if home(&read) != r.namespace {
		r.foreign |= b
	}
}

// Namespace implements mesh.Reader.
func (r *recorder) Namespace(name string) (*mesh.Namespace, error) {
	r.record(mesh.Read{Kind: mesh.ReadNamespace, Namespace: name})
	return r.Reader.Namespace(name)
}

// Service implements mesh.Reader.
func (r *recorder) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	r.record(service(key))
	return r.Reader.Service(key)
}

// HasEndpoints implements mesh.Reader.
func (r *recorder) HasEndpoints(key mesh.ServiceKey) (bool, error) {
	r.record(service(key))
	return r.Reader.HasEndpoints(key)
}

// ReferenceGrants implements mesh.Reader.
func (r *recorder) ReferenceGrants(namespace string) ([]mesh.ReferenceGrant, error) {
	r.record(mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: namespace})
	return r.Reader.ReferenceGrants(namespace)
}

// AttachedRoutes implements mesh.Reader.
func (r *recorder) AttachedRoutes(key mesh.ServiceKey, namespace string) ([]*mesh.AttachedRoute, error) {
	r.record(mesh.Read{Kind: mesh.ReadRoutes, Service: key, Namespace: namespace})
	return r.Reader.AttachedRoutes(key, namespace)
}
