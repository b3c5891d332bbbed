package command

import (
	"slices"
	"testing"
)

// TestShortened: what cannot be read is said once.
func TestShortened(t *testing.T) {
	const all = " (GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute)"
	a, b, c := "routes in namespace a"+all, "routes in namespace b"+all, "routes in namespace c (HTTPRoute)"
	for _, test := range []struct{ unseen, want []string }{
		{[]string{"Service a/a", a}, []string{"Service a/a", "routes in namespace a"}},
		{[]string{a, b, c}, []string{"routes in 3 namespaces"}},
		{[]string{"routes across all namespaces" + all, a, b, c}, []string{"routes across all namespaces"}},
		{[]string{"routes across all namespaces (HTTPRoute)", a, b, c}, []string{"routes across all namespaces (HTTPRoute)", "routes in 3 namespaces"}},
	} {
		if got := shortened(test.unseen); !slices.Equal(got, test.want) {
			t.Errorf("%v: %q, want %q", test.unseen, got, test.want)
		}
	}
}
