package webhook

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// quickAgrees reports whether the review is decoded quickly, and fails the test if the JSON
// library reads it otherwise, or finds the object in another place.
func quickAgrees(t *testing.T, body []byte) bool {
	t.Helper()
	var quick, want envelope
	ok := quickDecode(body, &quick)
	err := mesh.Decode(body, &want, jsontext.AllowInvalidUTF8(false))
	if ok {
		if err != nil {
			t.Fatalf("%s\nis decoded, want %v", body, err)
		}
		if diff := cmp.Diff(want, quick, cmp.AllowUnexported(object{})); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", body, diff)
		}
	}
	return ok
}

// TestQuick: what the API server writes is decoded quickly.
func TestQuick(t *testing.T) {
	for name, body := range map[string][]byte{"everything": []byte(everything), "typical": typicalReview(t, onCart), "warned": warnedReview(t)} {
		if !quickAgrees(t, body) {
			t.Errorf("%s is left to the JSON library", name)
		}
	}
}

// TestQuickRandom compares both decoders on reviews with mistakes.
func TestQuickRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sources := [][]byte{[]byte(everything), typicalReview(t, onCart), warnedReview(t)}
	quick := 0
	for range 40_000 {
		source := sources[random.IntN(len(sources))]
		body := slices.Clone(source)
		for range 1 + random.IntN(3) {
			from, to, other := random.IntN(len(body)), random.IntN(len(body)), random.IntN(len(source))
			switch random.IntN(4) {
			case 0: // one character by another of a review
				body[from] = source[other]
			case 1: // one by any
				body[from] = byte(random.IntN(256))
			case 2: // a part is left out
				body = slices.Delete(body, from, min(from+random.IntN(40), len(body)))
			case 3: // a part comes again elsewhere
				body = slices.Insert(body, to, source[other:min(other+random.IntN(200), len(source))]...)
			}
			if len(body) == 0 {
				body = slices.Clone(source)
			}
		}
		if quickAgrees(t, body) {
			quick++
		}
	}
	t.Logf("%d were decoded quickly", quick)
	if quick < 1_000 {
		t.Errorf("only %d of 40,000 were decoded quickly: little was compared", quick)
	}
}

// FuzzQuick compares both decoders.
func FuzzQuick(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		quickAgrees(t, body)
		if r, err := decodeReview(body); err == nil && !jsontext.Value(r.objectText()).IsValid(mesh.Lenient) {
			t.Errorf("%s\nthe object is found to be %q", body, r.objectText())
		}
	})
}
