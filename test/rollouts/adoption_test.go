package rollouts

import (
	"context"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// dormant stores routes that have no effect, before there is a gammaguard, in a namespace
// that nobody grants anything.
func dormant(t *testing.T) []*writer {
	t.Helper()
	namespace(t, "play", nil)
	var writers []*writer
	for name, group := range map[string]gatewayv1.Group{"podinfo": gatewayv1.GroupName, "core": "core"} {
		w := newWriter(t, "play", name)
		w.store(&gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "play", Name: name}, Spec: w.spec(&group, 0)})
		writers = append(writers, w)
	}
	return writers
}

// testAdoption plays the first step of docs/adoption.md over them: in mode audit, and in
// mode warn, an edit of the path changes the path and nothing else.
func testAdoption(t *testing.T, writers []*writer) {
	for _, mode := range []mesh.Mode{mesh.Audit, mesh.Warn} {
		label(t, "play", map[string]string{mesh.ModeLabel: string(mode)})
		for _, w := range writers {
			want := w.get()
			want.Spec.Rules[0].Matches[0].Path.Value = new("/" + string(mode))
			if err := w.Update(t.Context(), want.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			got := w.get()
			if diff := gocmp.Diff(want.Spec, got.Spec); diff != "" || len(got.Status.Parents) > 0 {
				t.Errorf("mode %s: %s changed (-edit +stored): %s%v", mode, w.name, diff, got.Status.Parents)
			}
			if w.told("parent-group") != (mode == mesh.Warn) {
				t.Errorf("mode %s: %s: warnings %q", mode, w.name, w.warnings)
			}
		}
	}
}

// testStored enforces a namespace in which Flagger has a route with group core: it goes on,
// since its updates do not bring the problem in, and nothing is changed under its hands.
func testStored(t *testing.T) {
	namespace(t, "stored", nil)
	f := &flagger{writer: newWriter(t, "stored", "podinfo"), group: "core"}
	f.tick()
	f.tick()
	label(t, "stored", map[string]string{mesh.ModeLabel: string(mesh.Enforce), mesh.GrantLabel: string(mesh.GrantAll)})
	f.run()
	journal := strings.Join(f.journal, "\n")
	if !f.done || strings.Contains(journal, "reset") || strings.Contains(journal, "refused") {
		t.Errorf("enforced half way:\n%s", journal)
	}
}

// testWithdrawn takes the grant away from a rollout half way: it can go neither on nor back,
// and it promotes once the grant is there again.
func testWithdrawn(t *testing.T) {
	labels := map[string]string{mesh.ModeLabel: string(mesh.Enforce), mesh.GrantLabel: string(mesh.GrantProducer)}
	namespace(t, "withdrawn", labels)
	f := &flagger{writer: newWriter(t, "withdrawn", "podinfo"), group: ""}
	for range 2 {
		f.tick()
	}
	half := f.get()
	if weight(half) != 2*step {
		t.Fatalf("%d %% after two ticks: %q", weight(half), f.journal)
	}
	label(t, "withdrawn", map[string]string{mesh.GrantLabel: string(mesh.GrantNone)})
	f.await("the grant is gone", func(route *gatewayv1.HTTPRoute) bool {
		route.Spec.Rules[0].BackendRefs = backends(0)
		return apierrors.IsForbidden(f.Update(t.Context(), route, client.DryRunAll))
	})
	f.await("the status says so", func(route *gatewayv1.HTTPRoute) bool {
		return unready(route) == "gammaguard.dev/guard NamespaceNotGranted"
	})
	f.journal = nil
	f.tick()
	if f.set("rolled back", 0); len(f.journal) != 2 || f.journal[0] != "halted: gammaguard.dev/guard NamespaceNotGranted" ||
		!strings.Contains(f.journal[1], "rolled back: refused") || !strings.Contains(f.journal[1], "(grant-missing)") {
		t.Errorf("without the grant: %q", f.journal)
	}
	if now := f.get(); now.Generation != half.Generation {
		t.Errorf("it changed without the grant: %v", now.Spec)
	}
	label(t, "withdrawn", map[string]string{mesh.ModeLabel: string(mesh.Warn)})
	f.await("mode warn clears the status", func(route *gatewayv1.HTTPRoute) bool { return len(route.Status.Parents) == 0 })
	if !f.set("rolled back", 0) {
		t.Errorf("no rollback in mode warn: %q", f.journal)
	}
	label(t, "withdrawn", labels)
	f.await("the grant clears the status", func(route *gatewayv1.HTTPRoute) bool { return len(route.Status.Parents) == 0 })
	f.journal = nil
	f.run()
	if !f.done || strings.Contains(strings.Join(f.journal, "\n"), "refused") {
		t.Errorf("not promoted with the grant: %q", f.journal)
	}
}

// await waits until a condition holds for the stored route.
func (w *writer) await(what string, holds func(*gatewayv1.HTTPRoute) bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		return holds(w.get()), nil
	})
	if err != nil {
		w.t.Fatalf("wait until %s: %v", what, err)
	}
}

// label sets labels of a namespace.
func label(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	c, err := plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	for key, value := range labels {
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, key, value)
	}
	if err := c.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
}
