package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// everything is a review that has every field that is read, and others.
const everything = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
	"uid": "1-2", "name": "web", "namespace": "shop", "operation": "UPDATE", "subResource": "", "dryRun": true,
	"kind": {"group": "g", "version": "v1", "kind": "HTTPRoute"}, "options": null,
	"oldObject": {"kind": "HTTPRoute", "spec": {"hostnames": ["\u00e9\n"]}},
	"userInfo": {"username": "dev", "groups": ["a", "b", "c"], "extra": {"x": ["y"]}},
	"object": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "web"},
		"spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "cart", "port": 80}]}}}}`

// TestDecode: all is read, the object and the old one too.
func TestDecode(t *testing.T) {
	got, err := decodeReview([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	old, err := mesh.DecodeRoute(got.OldObject)
	if err != nil {
		t.Fatal(err)
	}
	core := ""
	want := &review{request: &request{UID: "1-2", Name: "web", Namespace: "shop", Operation: operationUpdate, DryRun: true}}
	want.UserInfo.Username, want.UserInfo.Groups = "dev", []string{"a", "b", "c"}
	object := *got.Object
	got.Posted.route, got.OldObject = mesh.Route{}, nil // what is read of them is compared below
	if diff := cmp.Diff(want.request, got.request, cmp.AllowUnexported(got.Posted)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	for _, route := range []struct{ got, want *mesh.Route }{
		{&object, &mesh.Route{
			Kind: mesh.HTTPRoute, Metadata: mesh.Metadata{Namespace: "shop", Name: "web"},
			Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{{Group: &core, Kind: mesh.ServiceKind, Name: "cart", Port: 80}}},
		}},
		{old, &mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{Hostnames: []string{"\u00e9\n"}}}},
	} {
		if diff := cmp.Diff(route.want, route.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestDecodeNamesThePlace: an error says where the fault is, and a fault of the
// object alone leaves the review readable.
func TestDecodeNamesThePlace(t *testing.T) {
	for _, test := range []struct {
		name, old, by, want string
		review              bool
	}{
		{"in the object", `"port": 80`, `"port": "80"`, "not a route: spec.parentRefs[0].port: found string, want integer", true},
		{"no object", `"object": {"apiVersion"`, `"object": null, "other": {"apiVersion"`, `not a route: kind "" is not one of`, true},
		{"no boolean", `"dryRun": true`, `"dryRun": 1`, "not an AdmissionReview: request.dryRun: found number, want boolean", false},
		{"no JSON in the object", `"port": 80`, `"port": 8x`, "not an AdmissionReview: request.object.spec.parentRefs[0]: ", false},
		{"no JSON in what is passed over", `"x": ["y"]`, `"x": [nan]`, "not an AdmissionReview: request.userInfo.extra.x[0]: ", false},
		{"more behind it", `}]}}}}`, `}]}}}} {}`, "not an AdmissionReview: invalid character", false},
		{"no UTF-8", `"cart"`, "\"\xff\"", "not an AdmissionReview: request.object.spec.parentRefs[0].name: invalid UTF-8", false},
		{"no review", `"AdmissionReview"`, `"Review"`, `apiVersion "admission.k8s.io/v1", kind "Review"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := strings.Replace(everything, test.old, test.by, 1)
			if body == everything {
				t.Fatal("nothing was replaced")
			}
			got, err := decodeReview([]byte(body))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %q first", err, test.want)
			}
			if (got != nil) != test.review {
				t.Errorf("the review is read as %+v", got)
			}
		})
	}
}
