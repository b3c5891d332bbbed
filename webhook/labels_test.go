package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// storedRoutes are the routes of a world of manifests.
type storedRoutes struct {
	set *manifest.Set
	err error
}

func (s storedRoutes) Routes(_ context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error {
	for _, route := range s.set.Routes() {
		if route.Key.Kind != string(kind) || route.Key.Namespace != namespace {
			continue
		}
		text, err := yaml.YAMLToJSON(route.JSON)
		if err != nil {
			return err
		}
		if err := each(text); err != nil {
			return err
		}
	}
	return s.err
}

func (s storedRoutes) ParentsInNamespace(namespace string) []mesh.ServiceKey {
	return []mesh.ServiceKey{{Kind: mesh.ServiceKind, Namespace: namespace, Name: "cart"}}
}

func (s storedRoutes) RoutesTo(key mesh.ServiceKey) (to []*mesh.AttachedRoute) {
	for _, route := range s.set.Routes() {
		if attached := route.Route.Attached(nil).WithBackends(route.Route, nil); slices.Contains(attached.Backends, key) {
			to = append(to, attached)
		}
	}
	return to
}

// adopted is a cluster whose labels are about to change.
const adopted = `
{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: headless, namespace: shop}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: fine, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: bad, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: headless}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: shop}, spec: {parentRefs: [{name: gateway}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: visitor, namespace: web}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}], rules: [{backendRefs: [{namespace: shop, name: cart, port: 80}]}]}}
`

func labelHandler(t *testing.T, broken error) http.Handler {
	t.Helper()
	set := world(t, adopted)
	o := options(t, set)
	o.Stored = storedRoutes{set, broken}
	return previewLabels(o, newEngine(t, nil))
}

func relabeled(old, now string) admission {
	namespace := func(meta string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: shop, " + meta + "}, spec: {finalizers: [kubernetes]}}"
	}
	return admission{operation: operationUpdate, object: namespace(now), old: namespace(old)}
}

// TestLabels: a change of labels tells what becomes of routes, and is always admitted.
func TestLabels(t *testing.T) {
	handler := labelHandler(t, nil)
	const bad = "1 of 2 routes, denied before the change too, lose their grant: HTTPRoute bad"
	for _, test := range []struct {
		name, old, now string
		want           []string
	}{
		{
			"enforced", "labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn}", "labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: enforce}",
			[]string{"if created now, 1 of 2 routes would be denied: HTTPRoute bad (parent-headless)"},
		},
		{
			"a grant goes", "labels: {gammaguard.dev/grant: all}", "labels: {}",
			[]string{"if created now, 1 of 2 routes would be denied, in addition to 1 before the change: HTTPRoute fine (grant-missing)", bad},
		},
		{
			"a grant goes, in mode warn", "labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn}", "labels: {gammaguard.dev/mode: warn}",
			[]string{"2 of 2 routes lose their grant: HTTPRoute fine, HTTPRoute bad"},
		},
		{
			"the grant is narrowed by what cannot be read", "labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/grant-route-kinds: HttpRoute}",
			[]string{"the annotation gammaguard.dev/grant-route-kinds cannot be read, so nothing is granted: kinds are GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute, and not \"HttpRoute\"", "if created now, 1 of 2 routes would be denied, in addition to 1 before the change: HTTPRoute fine (grant-missing)", bad},
		},
		{
			"consumers by what cannot be read", "annotations: {gammaguard.dev/consumer-route-kinds: a}", "annotations: {gammaguard.dev/consumer-route-kinds: b, gammaguard.dev/consumer-routes-from: a in (}",
			[]string{
				"the annotation gammaguard.dev/consumer-routes-from cannot be read, so no consumer routes are accepted: the value is a label selector, such as team=web",
				"the annotation gammaguard.dev/consumer-route-kinds cannot be read, so no consumer routes are accepted: kinds are GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute, and not \"b\"",
			},
		},
		{
			"still not to be read", "annotations: {gammaguard.dev/grant-route-kinds: httproute}", "labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/grant-route-kinds: httproute}",
			[]string{"the annotation gammaguard.dev/grant-route-kinds cannot be read, so nothing is granted: kinds are GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute, and not \"httproute\""},
		},
		{
			"consumers of kinds that cannot be read", "annotations: {gammaguard.dev/consumer-route-kinds: HTTPRoute}", "annotations: {gammaguard.dev/consumer-route-kinds: 'HTTPRoute, grpcroute,x'}",
			[]string{"the annotation gammaguard.dev/consumer-route-kinds cannot be read, so no consumer routes are accepted: kinds are GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute, and not \"grpcroute\""},
		},
		{
			"kinds that are not read to the end", "annotations: {gammaguard.dev/consumer-route-kinds: HTTPRoute}", "annotations: {gammaguard.dev/consumer-route-kinds: '" + strings.Repeat("HTTPRoute,", 500) + "HTTPRoute'}",
			[]string{"the annotation gammaguard.dev/consumer-route-kinds cannot be read, so no consumer routes are accepted"},
		},
		{
			"the grant is narrowed", "labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/grant-route-kinds: GRPCRoute}",
			[]string{"if created now, 1 of 2 routes would be denied, in addition to 1 before the change: HTTPRoute fine (grant-missing)", bad},
		},
		{
			"misspelled keys", "labels: {gammaguard.dev/x: a}", "labels: {gammaguard.dev/x: b, gammaguard.dev/grnat: all}, annotations: {gammaguard.dev/grant-route-kind: TCPRoute, gammaguard.dev/grant-request: x}",
			[]string{
				"the label gammaguard.dev/grnat has no effect here; did you mean the label gammaguard.dev/grant?",
				"the annotation gammaguard.dev/grant-route-kind has no effect here; did you mean the annotation gammaguard.dev/grant-route-kinds?",
			},
		},
		{
			"more misspelled keys than are named", "labels: {}", "labels: {gammaguard.dev/grant1: a, gammaguard.dev/grant2: a, gammaguard.dev/grant3: a, gammaguard.dev/grant4: a, gammaguard.dev/grant5: a, gammaguard.dev/grant6: a}",
			[]string{
				"the label gammaguard.dev/grant1 has no effect here; did you mean the label gammaguard.dev/grant?",
				"the label gammaguard.dev/grant2 has no effect here; did you mean the label gammaguard.dev/grant?",
				"the label gammaguard.dev/grant3 has no effect here; did you mean the label gammaguard.dev/grant?",
				"the label gammaguard.dev/grant4 has no effect here; did you mean the label gammaguard.dev/grant?",
				"the label gammaguard.dev/grant5 has no effect here; did you mean the label gammaguard.dev/grant?",
			},
		},
		{"the other grant goes", "labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: producer}", nil},
		{"a grant comes", "labels: {gammaguard.dev/mode: enforce}", "labels: {gammaguard.dev/mode: enforce, gammaguard.dev/grant: all}", nil},
		{
			"consumers are refused", "labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: all, gammaguard.dev/consumer-routes: deny}",
			[]string{"consumer routes of other namespaces are refused: GRPCRoute web/visitor"},
		},
		{
			"namespaces are refused", "labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/consumer-routes-from: a=b}",
			[]string{"consumer routes of other namespaces are refused: GRPCRoute web/visitor"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, dryRun := range []bool{true, false} {
				request := relabeled(test.old, test.now)
				request.dryRun = dryRun
				response := ask(t, handler, request)
				if diff := cmp.Diff(test.want, response.Warnings, cmpopts.EquateEmpty()); diff != "" || !response.Allowed {
					t.Errorf("dry run %v (-want +got)\n%s", dryRun, diff)
				}
			}
		})
	}
}

// TestLabelsDormant: of a stored route that no mesh reads, a preview counts what would be denied once a mutation corrects it.
func TestLabelsDormant(t *testing.T) {
	set := world(t, `
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: fine, namespace: shop}, spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: typo, namespace: shop}, spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Service, name: crat}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	response := ask(t, previewLabels(o, newEngine(t, nil)), relabeled("labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn}", "labels: {gammaguard.dev/grant: all}"))
	if diff := cmp.Diff([]string{"if created now, 1 of 2 routes would be denied: HTTPRoute typo (parent-not-found)"}, response.Warnings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLabelsDormantGrant: a dormant parentRef loses no grant, since it uses none; another one of the same route does.
func TestLabelsDormantGrant(t *testing.T) {
	set := world(t, `
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: live, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: asleep, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: both, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}, {group: "", kind: Service, name: bill}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: consumer, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}, {group: "", kind: Service, name: bill, namespace: pay}]}}`)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	response := ask(t, previewLabels(o, newEngine(t, nil)), relabeled("labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: audit}", "labels: {gammaguard.dev/grant: consumer, gammaguard.dev/mode: audit}"))
	if diff := cmp.Diff([]string{"2 of 4 routes lose their grant: HTTPRoute live, HTTPRoute both"}, response.Warnings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLabelsLosing: a route that is denied for another reason, or for another role, loses its grant as any other does: it may be live.
func TestLabelsLosing(t *testing.T) {
	set := world(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: pay}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: bill, namespace: pay}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: half, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: gone, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: alike, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: apps, kind: Services, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: both, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: bill, namespace: pay, port: 80}]}}`)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	handler := previewLabels(o, newEngine(t, nil))
	for _, test := range []struct {
		old, now string
		want     []string
	}{
		{
			"labels: {gammaguard.dev/grant: producer}", "labels: {}",
			[]string{
				"if created now, 1 of 3 routes would be denied, in addition to 2 before the change: HTTPRoute alike (grant-missing)",
				"2 of 3 routes, denied before the change too, lose their grant: HTTPRoute half, HTTPRoute both",
			},
		},
		{
			"labels: {gammaguard.dev/grant: all}", "labels: {gammaguard.dev/grant: producer}",
			[]string{"if created now, 1 of 3 routes would be denied, in addition to 1 before the change: HTTPRoute both (grant-missing)"},
		},
		{
			"labels: {gammaguard.dev/grant: producer}", "labels: {gammaguard.dev/grant: consumer}",
			[]string{
				"if created now, 1 of 3 routes would be denied, in addition to 2 before the change: HTTPRoute alike (grant-missing)",
				"2 of 3 routes, denied before the change too, lose their grant: HTTPRoute half, HTTPRoute both",
			},
		},
		{"labels: {gammaguard.dev/grant: none}", "labels: {}", nil},
	} {
		response := ask(t, handler, relabeled(test.old, test.now))
		if diff := cmp.Diff(test.want, response.Warnings); diff != "" {
			t.Errorf("%s, then %s (-want +got)\n%s", test.old, test.now, diff)
		}
	}
}

// TestManyRoutes: a preview reads so many routes, and says so.
func TestManyRoutes(t *testing.T) {
	manifests := []string{adopted}
	for i := range maxRoutes {
		manifests = append(manifests, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r%d, namespace: shop},
			spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`, i))
	}
	set := world(t, strings.Join(manifests, "\n---\n"))
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	response := ask(t, previewLabels(o, newEngine(t, nil)), relabeled("labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn}", "labels: {gammaguard.dev/mode: warn}"))
	if len(response.Warnings) != 2 || !strings.HasPrefix(response.Warnings[0], "2999 of 2999 routes lose their grant: HTTPRoute ") ||
		response.Warnings[1] != "only the first 3000 routes of the namespace were checked; run gammaguard audit" {
		t.Errorf("got %q", response.Warnings)
	}
	response = ask(t, previewServices(o, newEngine(t, nil)), admission{operation: operationUpdate, old: serviceObject("shop", "{}"), object: serviceObject("shop", "{type: ExternalName}")})
	if len(response.Warnings) < 2 || response.Warnings[0] != "only the first 3000 routes of the namespace were read" {
		t.Errorf("got %q", response.Warnings)
	}
}

// TestLabelsFail: what cannot be previewed is admitted, with a warning that says so.
func TestLabelsFail(t *testing.T) {
	request := relabeled("labels: {}", "labels: {gammaguard.dev/grant: all}")
	want := []string{"gammaguard could not determine what this change does to routes"}
	unreadable := request
	unreadable.object = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: many}}"
	for name, response := range map[string]any{
		"a list fails":          ask(t, labelHandler(t, errors.New("too slow")), request).Warnings,
		"an odd Namespace":      ask(t, labelHandler(t, nil), unreadable).Warnings,
		"no change of a CREATE": append(want, ask(t, labelHandler(t, nil), admission{object: request.object}).Warnings...),
	} {
		if diff := cmp.Diff(want, response); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestListed: a warning has as many names as it has room for.
func TestListed(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("HTTPRoute route-%d (parent-headless)", i))
	}
	text := listed("3 routes: ", names)
	var more int
	_, rest, _ := strings.Cut(text, " and ")
	if _, err := fmt.Sscanf(rest, "%d more", &more); err != nil || len(text) > maxWarning || strings.Count(text, "HTTPRoute")+more != 100 {
		t.Errorf("%d characters: %s", len(text), text)
	}
	if got := listed("2 routes: ", names[:2]); got != "2 routes: "+names[0]+", "+names[1] {
		t.Error(got)
	}
}
