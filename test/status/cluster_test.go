package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// settleTime is how long a test waits for a change to show in a route's status. How long it takes is
// measured elsewhere: the tests share their processors with others.
const settleTime = 2 * time.Minute

// cluster is one test's part of the control plane: a namespace.
type cluster struct {
	client.Client
	t         *testing.T
	ctx       context.Context
	namespace string
}

// newCluster creates a namespace with the grant.
func newCluster(t *testing.T, namespace string, grant mesh.Grant) *cluster {
	t.Helper()
	config := rest.CopyConfig(plane.Config)
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cl := &cluster{Client: c, t: t, ctx: context.Background(), namespace: namespace}
	cl.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{mesh.GrantLabel: string(grant)},
	}})
	return cl
}

func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.Create(c.ctx, object); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) delete(object client.Object) {
	c.t.Helper()
	if err := c.Delete(c.ctx, object); err != nil {
		c.t.Fatal(err)
	}
}

// merge applies a JSON merge patch.
func (c *cluster) merge(object client.Object, format string, args ...any) {
	c.t.Helper()
	if err := c.Patch(c.ctx, object, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, format, args...))); err != nil {
		c.t.Fatal(err)
	}
}

// service returns a Service with TCP ports.
func (c *cluster) service(name string, ports ...int32) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
	for _, port := range ports {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: port})
	}
	return service
}

// route returns a route. Parents are written "service" or "service:port".
func (c *cluster) route(kind mesh.RouteKind, name string, parents ...string) *unstructured.Unstructured {
	refs := make([]any, len(parents))
	for i, parent := range parents {
		service, port, _ := strings.Cut(parent, ":")
		ref := map[string]any{"group": "", "kind": "Service", "name": service}
		var number int64
		if _, err := fmt.Sscan(port, &number); err == nil {
			ref["port"] = number
		}
		refs[i] = ref
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1",
		"kind":       string(kind),
		"metadata":   map[string]any{"namespace": c.namespace, "name": name},
		"spec":       map[string]any{"parentRefs": refs},
	}}
}

// withHostname gives a TLSRoute what the schema asks for beside parentRefs.
func withHostname(route *unstructured.Unstructured) *unstructured.Unstructured {
	spec := route.Object["spec"].(map[string]any)
	spec["hostnames"] = []any{"cart.example.org"}
	spec["rules"] = []any{map[string]any{"backendRefs": []any{map[string]any{"name": "cart", "port": int64(80)}}}}
	return route
}

// storedStatus is what the tests read of a route's status.
type storedStatus struct {
	Metadata struct {
		Generation      int64  `json:"generation"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		Parents []map[string]any `json:"parents"`
	} `json:"status"`
}

func statusOf(t *testing.T, object map[string]any) *storedStatus {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	s := &storedStatus{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// marks returns our entries in short, sorted: "name:port reason", with a star before
// those whose observedGeneration is not the route's.
func (s *storedStatus) marks() []string {
	marks := []string{}
	for _, entry := range s.Status.Parents {
		if entry["controllerName"] != desired.ControllerName {
			continue
		}
		ref, _ := entry["parentRef"].(map[string]any)
		mark := fmt.Sprint(ref["name"])
		if port, ok := ref["port"]; ok {
			mark += fmt.Sprintf(":%v", port)
		}
		conditions, _ := entry["conditions"].([]any)
		for _, c := range conditions {
			condition, _ := c.(map[string]any)
			reason := condition["reason"]
			if condition["type"] == desired.PartiallyConflicted {
				reason = "PartiallyConflicted"
			}
			mark += fmt.Sprintf(" %v", reason)
			if fmt.Sprint(condition["observedGeneration"]) != fmt.Sprint(s.Metadata.Generation) {
				mark = "*" + mark
			}
		}
		marks = append(marks, mark)
	}
	slices.Sort(marks)
	return marks
}

func (c *cluster) read(route *unstructured.Unstructured) *storedStatus {
	c.t.Helper()
	found := route.DeepCopy()
	if err := c.Get(c.ctx, client.ObjectKeyFromObject(route), found); err != nil {
		c.t.Fatal(err)
	}
	return statusOf(c.t, found.Object)
}

// expect waits until the route carries exactly these marks.
func (c *cluster) expect(route *unstructured.Unstructured, marks ...string) {
	c.t.Helper()
	c.expectWithin(settleTime, route, marks...)
}

func (c *cluster) expectWithin(limit time.Duration, route *unstructured.Unstructured, marks ...string) {
	c.t.Helper()
	if marks == nil {
		marks = []string{}
	}
	wait(c.t, limit, "the status of "+route.GetKind()+" "+route.GetName(), func() error {
		if diff := cmp.Diff(marks, c.read(route).marks()); diff != "" {
			return fmt.Errorf("marks (-want +got):\n%s", diff)
		}
		return nil
	})
}

// setParents writes status.parents as another controller would: in place of all
// that is there.
func (c *cluster) setParents(route *unstructured.Unstructured, parents []any) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"status": map[string]any{"parents": parents}})
	if err != nil {
		c.t.Fatal(err)
	}
	found := route.DeepCopy()
	if err := c.Status().Patch(c.ctx, found, client.RawPatch("application/merge-patch+json", text)); err != nil {
		c.t.Fatal(err)
	}
}

// foreignEntry is an entry of another controller.
func foreignEntry(n int) map[string]any {
	return map[string]any{
		"controllerName": fmt.Sprintf("example.org/controller-%d", n),
		"parentRef": map[string]any{
			"group": mesh.GatewayGroup, "kind": "Gateway", "name": "front", "sectionName": fmt.Sprintf("listener-%d", n),
		},
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Accepted", "message": "<routed> & \"quoted\"",
			"observedGeneration": int64(n), "lastTransitionTime": "2026-01-02T03:04:05Z",
		}},
	}
}
