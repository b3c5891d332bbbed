package fields

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1alpha2 "sigs.k8s.io/gateway-api/apis/v1alpha2"
	gatewayv1alpha3 "sigs.k8s.io/gateway-api/apis/v1alpha3"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestPublished: every field that is read of an object is one that the API publishes, with
// values of the same type, in each version that has it.
func TestPublished(t *testing.T) {
	for _, test := range []struct {
		ours      any
		published []any
	}{
		{mesh.Route{}, []any{
			gatewayv1.HTTPRoute{},
			gatewayv1.GRPCRoute{},
			gatewayv1.TLSRoute{},
			gatewayv1.TCPRoute{},
			gatewayv1.UDPRoute{},
			gatewayv1beta1.HTTPRoute{},
			gatewayv1alpha3.TLSRoute{},
			gatewayv1alpha2.GRPCRoute{},
			gatewayv1alpha2.TLSRoute{},
			gatewayv1alpha2.TCPRoute{},
			gatewayv1alpha2.UDPRoute{},
		}},
		{kube.RouteMetadata{}, []any{metav1.ObjectMeta{}}},
		{kube.Entry{}, []any{gatewayv1.RouteParentStatus{}}},
		{mesh.ParentCondition{}, []any{metav1.Condition{}}},
		{mesh.ServiceObject{}, []any{corev1.Service{}, mcsv1alpha1.ServiceImport{}, mcsv1beta1.ServiceImport{}}},
		{mesh.NamespaceObject{}, []any{corev1.Namespace{}, metav1.PartialObjectMetadata{}}},
		{mesh.EndpointSliceObject{}, []any{discoveryv1.EndpointSlice{}}},
		{mesh.ReferenceGrantObject{}, []any{gatewayv1.ReferenceGrant{}, gatewayv1beta1.ReferenceGrant{}}},
	} {
		for _, difference := range Differences(test.ours, test.published...) {
			// A mirror names its backend without the fields that a share of the requests has.
			if !strings.Contains(difference, ".requestMirror.backendRef.") {
				t.Error(difference)
			}
		}
	}
}

// TestDifferences: a renamed field is found, and one with another type.
func TestDifferences(t *testing.T) {
	type meta struct {
		Name string `json:"name"`
	}
	type ours struct {
		Kind     string `json:"kind"`
		Metadata struct {
			meta
			Labels struct {
				App    string `json:"app"`
				Number int32  `json:"number"`
			} `json:"labels"`
			CreationTimestamp time.Time `json:"creationTimestamp"`
			Generation        string    `json:"generation"`
		} `json:"metadata"`
		Spec struct {
			IP    string         `json:"clusterip"`
			Raw   jsontext.Value `json:"selector"`
			Own   string         `json:"-"`
			Ports []struct {
				Port     *int64 `json:"port"`
				Protocol string `json:"protocol"`
				NodePort int32  `json:"nodePort"`
			} `json:"ports"`
		} `json:"spec"`
	}
	got := Differences(ours{}, corev1.Service{}, mcsv1beta1.ServiceImport{})
	want := []string{
		"Service.metadata.generation: read as string, published as int64",
		"Service.metadata.labels.number: read as int32, published as string",
		"Service.spec.clusterip: not published",
		"Service.spec.ports[].port: read as int64, published as int32",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
