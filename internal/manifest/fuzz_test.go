package manifest_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/internal/manifest"
)

// FuzzRead reads anything: nothing panics, no field stands before its document,
// and what was put can be deleted.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		stream, shop, "", "---", "{}\n{}", "kind: List\nitems: [1, {kind: List, items: [{}]}]", "a: &a [*a]", "{\"kind\":\"XList\",\"items\":[{}]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, _ := manifest.Read("x", data, "default")
		s := manifest.NewSet(manifest.Options{Complete: true})
		for _, o := range objects {
			for _, path := range []string{"", "metadata.name", "spec.parentRefs[0].port", "[", "a[b"} {
				if line := o.Line(path); line < o.Origin.Line {
					t.Errorf("%q: line %d, before the document's line %d", path, line, o.Origin.Line)
				}
			}
			if err := s.Put(o); err != nil {
				continue
			}
			s.Delete(o.Key)
			if s.Get(o.Key) != nil {
				t.Errorf("%s is still there", o.Key)
			}
		}
	})
}
