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

// collect returns the set of the reads, and that of those in other namespaces. The read of
// the namespace itself is left out: it concerns all its routes.
func collect(read []mesh.Read, namespace string) (all, foreign reads) {
	for _, read := range read {
		if read == (mesh.Read{Kind: mesh.ReadNamespace, Namespace: namespace}) {
			continue
		}
		if read.Kind == mesh.ReadEndpoints {
			read = service(read.Service)
		}
		b := bits(read)
		all |= b
		if home(&read) != namespace {
			foreign |= b
		}
	}
	return all, foreign
}
