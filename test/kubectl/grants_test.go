package kubectl

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// object makes an object from its manifest in JSON.
func object(t *testing.T, format string, args ...any) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(fmt.Appendf(nil, format, args...)); err != nil {
		t.Fatal(err)
	}
	return o
}

func create(t *testing.T, c client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func shop(t *testing.T, c client.Client, name, grant string) {
	t.Helper()
	create(t, c,
		object(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q, "labels": {%q: %q}}}`, name, mesh.GrantLabel, grant),
		object(t, `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart", "namespace": %q}, "spec": {"ports": [{"port": 80}]}}`, name))
}

func routeOnCart(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": %q, "namespace": %q},
		"spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "cart"}], "rules": [{"backendRefs": [{"name": "cart", "port": 80}]}]}}`, name, namespace)
}

// TestGrantCountsAtOnce grants a namespace and at once applies a route, and then
// takes the grant away again, many times over: no route is refused after a grant,
// whatever the caches have seen.
func TestGrantCountsAtOnce(t *testing.T) {
	start(t, "")
	c := newClient(t)
	const name = "granted-at-once"
	shop(t, c, name, "none")
	namespace := object(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q}}`, name)
	label := func(grant mesh.Grant) {
		patch := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %q}}}`, mesh.GrantLabel, grant)
		if err := c.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		label(mesh.GrantProducer)
		route := routeOnCart(t, name, "cart")
		if err := c.Create(t.Context(), route); err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
		if err := c.Delete(t.Context(), route); err != nil {
			t.Fatal(err)
		}
		label(mesh.GrantNone)
	}
}

// TestGrantedWithoutLiveReads applies routes that the cache says are granted: no
// object is read live for that, whereas a refusal is confirmed live.
func TestGrantedWithoutLiveReads(t *testing.T) {
	g := start(t, "")
	c := newClient(t)
	shop(t, c, "granted-by-cache", "producer")
	shop(t, c, "not-granted", "none")
	first := routeOnCart(t, "granted-by-cache", "first")
	for { // the cache learns of the namespace and the Service when it does
		before := liveReads(t, g)
		err := c.Create(t.Context(), first.DeepCopy(), client.DryRunAll)
		if err == nil && liveReads(t, g) == before {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	before := liveReads(t, g)
	for i := range 50 {
		create(t, c, routeOnCart(t, "granted-by-cache", fmt.Sprintf("cart-%d", i)))
	}
	if after := liveReads(t, g); after != before {
		t.Errorf("50 granted routes took %d live reads, want none", after-before)
	}
	if err := c.Create(t.Context(), routeOnCart(t, "not-granted", "cart")); !apierrors.IsForbidden(err) {
		t.Errorf("a route without a grant: %v, want Forbidden", err)
	}
	if after := liveReads(t, g); after == before {
		t.Error("a refusal was not confirmed by a live read")
	}
}

// liveReads returns how many objects the guard has read live.
func liveReads(t *testing.T, g *guard.Guard) (total int) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, g.MetricsURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "gammaguard_live_reads_total{") {
			continue
		}
		fields := strings.Fields(lines.Text())
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		total += int(n)
	}
	return total
}
