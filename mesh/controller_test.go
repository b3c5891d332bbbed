package mesh

import (
	"strings"
	"testing"
)

// TestController: the owner is the one that controls, and its text is safe to print.
func TestController(t *testing.T) {
	for _, test := range []struct{ name, owners, want string }{
		{"none", `null`, ""},
		{"no controller", `[{"kind": "Kustomization", "name": "all"}]`, ""},
		{"a controller", `[{"kind": "Kustomization", "name": "all"}, {"kind": "Canary", "name": "podinfo", "controller": true}]`, "Canary play/podinfo"},
		{"two", `[{"kind": "A", "name": "a", "controller": true}, {"kind": "B", "name": "b", "controller": true}]`, "A play/a"},
		{"control characters", `[{"kind": "Can\u001b[1mary", "name": "x\ny", "controller": true}]`, `"Can\x1b[1mary" play/"x\ny"`},
		{"without a name", `[{"controller": true}]`, `"" play/""`},
		{"long", `[{"kind": "Canary", "name": "` + strings.Repeat("a", 2000) + `", "controller": true}]`, "Canary play/" + strings.Repeat("a", maxControllerText) + "..."},
	} {
		route, err := DecodeRoute([]byte(`{"kind": "HTTPRoute", "metadata": {"ownerReferences": ` + test.owners + `}}`))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		got := ""
		if owner := route.Controller(); owner != nil {
			got = owner.In("play")
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
