package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestListPages: a list is read page by page, of one namespace or all; a refusal is the
// API server's, and says where.
func TestListPages(t *testing.T) {
	const slice = `{"metadata":{"namespace":"shop","name":%q,"labels":{"kubernetes.io/service-name":%q}},"endpoints":[%s]}`
	pages := map[string]string{
		"":     `{"metadata":{"continue":"more"},"items":[` + fmt.Sprintf(slice, "a", "cart", "{}") + `,` + fmt.Sprintf(slice, "b", "empty", "") + `]}`,
		"more": `{"metadata":{},"items":[` + fmt.Sprintf(slice, "c", "web", "{}") + `]}`,
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path != "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
			return
		}
		_, _ = fmt.Fprint(w, pages[req.URL.Query().Get("continue")])
	}))
	t.Cleanup(api.Close)
	reader, err := NewReader(&rest.Config{Host: api.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	with, err := reader.WithEndpoints(t.Context(), "shop")
	want := map[mesh.ServiceKey]bool{
		{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}: true,
		{Kind: mesh.ServiceKind, Namespace: "shop", Name: "web"}:  true,
	}
	if diff := cmp.Diff(want, with); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	_, err = reader.WithEndpoints(t.Context(), "")
	if !apierrors.IsForbidden(err) || errors.Is(err, mesh.ErrNotFound) || err.Error() != "list EndpointSlices in all namespaces: no" {
		t.Errorf("%v", err)
	}
}
