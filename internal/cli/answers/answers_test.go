package answers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// stored returns a route of generation 2 on cart and pay, with these entries.
func stored(t *testing.T, entries string) *manifest.Object {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"namespace":"shop","name":"web","generation":2},
		"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart","port":80},{"group":"","kind":"Service","name":"pay"}]},"status":{"parents":[%s]}}`, entries)
	route, err := mesh.DecodeRoute([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &manifest.Object{JSON: []byte(text), Route: route}
}

// TestRead: the best answer for each parentRef counts, and our own is none.
func TestRead(t *testing.T) {
	const cart, pay = `{"group":"","kind":"Service","name":"cart","port":80}`, `{"group":"","kind":"Service","name":"pay"}`
	entry := func(ref, controller, status string, generation int) string {
		return fmt.Sprintf(`{"parentRef":%s,"controllerName":%q,"conditions":[{"type":"Accepted","status":%q,"reason":"R","message":"m","observedGeneration":%d}]}`,
			ref, controller, status, generation)
	}
	none := answers.Answer{State: "unanswered"}
	for _, test := range []struct {
		name, entries string
		want          [2]answers.Answer
	}{
		{"none", "", [2]answers.Answer{none, none}},
		{"ours", entry(cart, "us", "False", 2), [2]answers.Answer{none, none}},
		{
			"two meshes", entry(cart, "a", "False", 2) + "," + entry(cart, "b", "True", 2) + "," + entry(pay, "a", "True", 1),
			[2]answers.Answer{{"applied", "b", "R", "m"}, {"stale", "a", "R", "m"}},
		},
		{"another port", entry(`{"group":"","kind":"Service","name":"cart"}`, "a", "True", 2), [2]answers.Answer{none, none}},
		{"unreadable", entry(cart, "a", "True", 2) + `,{"parentRef":7}`, [2]answers.Answer{none, none}},
	} {
		book := answers.Read([]*manifest.Object{stored(t, test.entries)}, []string{"us", "we"})
		got := [2]answers.Answer{book.Of("HTTPRoute shop/web", 0), book.Of("HTTPRoute shop/web", 1)}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		for _, other := range []answers.Answer{book.Of("HTTPRoute shop/web", 2), book.Of("HTTPRoute shop/other", 0), (*answers.Book)(nil).Of("HTTPRoute shop/web", 0)} {
			if other != (answers.Answer{}) {
				t.Errorf("%s: %+v", test.name, other)
			}
		}
	}
}
