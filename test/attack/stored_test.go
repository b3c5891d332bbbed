package attack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// oddEntries are status entries under gammaguard's name that the schema admits.
var oddEntries = map[string]object{
	"time":       {"conditions": []any{condition("lastTransitionTime", "2020-01-01t00:00:00z")}},
	"generation": {"conditions": []any{condition("observedGeneration", int64(1)<<62)}},
	"message":    {"conditions": []any{condition("message", strings.Repeat("\u0000\ufffd", 8000))}},
	"parent":     {"parentRef": object{"name": strings.Repeat("x", 253), "kind": "service", "group": ""}},
}

// condition is a condition with one field set.
func condition(field string, value any) object {
	c := object{"type": "Accepted", "status": "False", "reason": "Conflicted", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}
	c[field] = value
	return c
}

// TestPoisonedStatus stores entries under gammaguard's name that it cannot read while no
// replica runs. One that starts afterwards becomes ready, judges, and removes them.
func TestPoisonedStatus(t *testing.T) {
	p := newPatient(t)
	routes := p.user.Resource(httpRoutes).Namespace(p.granted)
	if err := p.guard.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, odd := range oddEntries {
		// On a Gateway, so that it is stored while no replica runs.
		route, err := routes.Create(t.Context(), http.route(p.granted, name, gatewayParent()), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		entry := object{"controllerName": "gammaguard.dev/guard", "parentRef": object{"name": "gateway"}, "conditions": []any{condition("message", "")}}
		for field, value := range odd {
			entry[field] = value
		}
		route.Object["status"] = object{"parents": []any{entry}}
		if _, err := routes.UpdateStatus(t.Context(), route, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	since := time.Now()
	p.startAnother(guard.Options{})
	p.wantHealthy(since)
	background.Eventually(t, func() string {
		for name := range oddEntries {
			route, err := routes.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents"); len(parents) > 0 {
				return fmt.Sprintf("%s: status is %.300s", name, fmt.Sprint(parents))
			}
		}
		return ""
	})
	if log := p.guard.Log(); strings.Count(log, "A stored object cannot be read") != 1 || !strings.Contains(log, `"name":"time"`) {
		t.Errorf("its log has not one line about what it cannot read:\n%.3000s", log)
	}
}

// TestFormerName restarts gammaguard under another controller name: its entries under the
// name of before go, and there is one under the new name.
func TestFormerName(t *testing.T) {
	p := newPatient(t)
	const former, now = "example.com/former", "gammaguard.dev/guard"
	restart := func(settings string) {
		t.Helper()
		if err := p.guard.Kill(); err != nil {
			t.Fatal(err)
		}
		p.startAnother(guard.Options{Config: "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nstatus: {" + settings + "}\n"})
	}
	routes := p.user.Resource(httpRoutes).Namespace(p.granted)
	restart("controllerName: " + former)
	if _, err := routes.Create(t.Context(), http.route(p.granted, "marked", onCart()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.grant(t, p.granted, "none")
	awaitNames := func(want string) {
		t.Helper()
		background.Eventually(t, func() string {
			route, err := routes.Get(t.Context(), "marked", metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
			names := []any{}
			for _, entry := range parents {
				names = append(names, entry.(object)["controllerName"])
			}
			if got := fmt.Sprint(names); got != "["+want+"]" {
				return "entries of " + got + ", want one of " + want
			}
			return ""
		})
	}
	awaitNames(former)
	restart("formerControllerNames: [" + former + "]")
	awaitNames(now)
}
