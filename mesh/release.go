package mesh

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// release is the numbers of a release: [1 31 2] for 1.31.2. It is empty where the release is
// not known.
type release []int

// releaseName is how meshes name their releases: "2.13", "v1.20.2", "1.31.0-rc.1",
// "edge-25.11.2".
var releaseName = regexp.MustCompile("^" + ReleasePattern + "$")

// ReleasePattern is a regular expression for the version of a mesh.
const ReleasePattern = `(?:[a-z]{1,16}-)?v?([0-9]{1,4}(?:\.[0-9]{1,4}){1,2})(?:[-+.][-+.0-9A-Za-z]*)?`

// parseRelease reads the numbers of a release.
func parseRelease(name string) (release, error) {
	found := releaseName.FindStringSubmatch(name)
	if found == nil || len(name) > 128 {
		return nil, fmt.Errorf("%q is not a version, such as 2.13 or 1.20.2", name)
	}
	var r release
	for part := range strings.SplitSeq(found[1], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a version: %w", name, err)
		}
		r = append(r, n)
	}
	return r, nil
}

// IsRelease reports whether the name of a mesh can have that text as its version.
func IsRelease(name string) bool {
	_, err := parseRelease(name)
	return err == nil
}

// compare compares the release with a bound, as far as the bound says: 1.20.2 equals 1.20.
func (r release) compare(bound string) int {
	b, err := parseRelease(bound)
	if err != nil { // bounds are constants, and tested
		panic(err)
	}
	return slices.Compare(r[:min(len(r), len(b))], b)
}

// within reports whether the release is one that a fact with these bounds is about: any,
// where it is not known.
func (r release) within(since, until string) bool {
	return len(r) == 0 || (since == "" || r.compare(since) >= 0) && (until == "" || r.compare(until) < 0)
}

// Fact is one cell of the table of profiles.
type Fact[T any] struct {
	Value T
	// Source says where it was observed or read: never empty.
	Source string
	// Since and Until bound the releases that it holds for: from Since on, and before Until.
	// One that is empty is no bound, as far as is known.
	Since, Until string
	// Others are what holds for other releases.
	Others []Fact[T]
}

// fact returns what holds for all releases, as far as is known.
func fact[T any](value T, source string) Fact[T] { return Fact[T]{Value: value, Source: source} }

// since returns the fact as one that holds from that release on.
func (f Fact[T]) since(release string) Fact[T] {
	f.Since = release
	return f
}

// until returns the fact as one that holds before that release.
func (f Fact[T]) until(release string) Fact[T] {
	f.Until = release
	return f
}

// choose returns the fact that holds for the release. Where that is not known, it is the first.
func choose[T any](r release, facts ...Fact[T]) Fact[T] {
	i := max(0, slices.IndexFunc(facts, func(f Fact[T]) bool { return r.within(f.Since, f.Until) }))
	chosen := facts[i]
	chosen.Others = slices.Delete(slices.Clone(facts), i, i+1)
	return chosen
}
