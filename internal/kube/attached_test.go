package kube

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestAttachedRoutes: of a namespace's routes, those on the Service are found. One
// that cannot be read counts as absent, and a list that goes on cannot be known.
func TestAttachedRoutes(t *testing.T) {
	const onCart = `{"metadata":{"namespace":"shop","name":"a"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"cart"}]}}`
	const elsewhere = `{"metadata":{"namespace":"shop","name":"b"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"other"}]}}`
	const unreadable = `{"metadata":{"namespace":"shop","name":"c"},"spec":{"parentRefs":7}}`
	for name, test := range map[string]struct {
		more string
		want []string
		err  error
	}{
		"all":  {"", []string{"HTTPRoute shop/a"}, nil},
		"more": {"token", nil, mesh.ErrUnknown},
	} {
		reader := answering(t, func(string, error) {}, map[string]http.HandlerFunc{
			"/apis/gateway.networking.k8s.io":    text(`{"kind":"APIGroup","versions":[{"version":"v1"}]}`),
			"/apis/gateway.networking.k8s.io/v1": text(`{"kind":"APIResourceList","resources":[{"name":"httproutes"}]}`),
			"/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes": text(
				`{"kind":"HTTPRouteList","apiVersion":"gateway.networking.k8s.io/v1","metadata":{"continue":"` + test.more + `"},"items":[` +
					onCart + `,` + elsewhere + `,` + unreadable + `]}`),
		})
		routes, err := reader.AttachedRoutes(t.Context(), cartKey, "shop")
		var got []string
		for _, route := range routes {
			got = append(got, route.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, routes (-want +got):\n%s", name, err, diff)
		}
	}
}
