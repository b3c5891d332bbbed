package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// attachedCluster has routes on a Service, and to it as a backend.
const attachedCluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ungranted}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: going, deletionTimestamp: "2026-01-02T03:04:05Z"}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: named, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, sectionName: grpc}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: numbered, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 91, sectionName: admin}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: never, namespace: shop, creationTimestamp: "2026-01-03T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 79}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: visitor, namespace: web, creationTimestamp: "2026-01-04T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: other, namespace: lab, creationTimestamp: "2026-01-05T00:00:00Z"}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: idle, namespace: ungranted}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: north, namespace: shop}, spec: {parentRefs: [{name: gateway}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: going}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
`

func serviceObject(namespace, spec string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: " + namespace + "}, spec: " + spec + "}"
}

// TestServices: a change of a Service tells which routes it detaches, and is always
// admitted.
func TestServices(t *testing.T) {
	set := world(t, attachedCluster)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	handler := previewServices(o, newEngine(t, nil))
	const both, http, grpc = "{ports: [{port: 80}, {port: 90, name: grpc}]}", "{ports: [{port: 80}]}", "{ports: [{port: 90, name: grpc}]}"
	const others = "2 routes of other namespaces have this Service as a parent"
	for _, test := range []struct {
		name, namespace, old, now string
		want                      []string
	}{
		{"a port goes", "shop", both, grpc, []string{"HTTPRoute shop/cart selects port 80, which this change removes"}},
		{"a named port goes", "shop", both, http, []string{"GRPCRoute shop/named selects port grpc, which this change removes"}},
		{"a named port has another number", "shop", "{ports: [{port: 80}, {port: 91, name: admin}]}", "{ports: [{port: 80}, {port: 92, name: admin}]}", []string{
			"GRPCRoute shop/numbered selects port 91 named admin, which this change removes",
		}},
		{"a port comes", "shop", http, both, nil},
		{"another protocol", "shop", http, "{ports: [{port: 80, protocol: UDP}]}", []string{"HTTPRoute shop/cart selects TCP ports, of which this change leaves none", others}},
		{"an alias", "shop", both, "{type: ExternalName, externalName: a.test}", []string{
			"spec.type: GRPCRoute shop/named has this Service as a parent, which cannot be of type ExternalName; change the route first (service-becomes-external-name)",
			"spec.type: GRPCRoute shop/numbered has this Service as a parent, which cannot be of type ExternalName; change the route first (service-becomes-external-name)",
			"spec.type: HTTPRoute shop/cart has this Service as a parent and a backend, which cannot be of type ExternalName; change the route first (service-becomes-external-name)",
			"spec.type: TCPRoute shop/never has this Service as a parent, which cannot be of type ExternalName; change the route first (service-becomes-external-name)", others,
		}},
		{"headless", "shop", http, "{clusterIP: None, ports: [{port: 80}]}", []string{"HTTPRoute shop/cart has this Service as a parent, which cannot be headless", others}},
		{"deleted", "shop", both, "", []string{"HTTPRoute shop/cart has this Service as a parent", "GRPCRoute shop/named has this Service as a parent", others}},
		{"deleted, and it never was a parent", "shop", "{clusterIP: None, ports: [{port: 80}]}", "", nil},
		{"deleted with its namespace", "going", http, "", nil},
		{"another Service", "lab", http, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := admission{operation: operationUpdate, old: serviceObject(test.namespace, test.old)}
			if test.now == "" {
				request.operation = operationDelete
			} else {
				request.object = serviceObject(test.namespace, test.now)
			}
			for _, dryRun := range []bool{true, false} {
				request.dryRun = dryRun
				response := ask(t, handler, request)
				if diff := cmp.Diff(test.want, response.Warnings, cmpopts.EquateEmpty()); diff != "" || !response.Allowed {
					t.Errorf("dry run %v (-want +got)\n%s", dryRun, diff)
				}
			}
		})
	}
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)})
	if err != nil {
		t.Fatal(err)
	}
	istio := previewServices(o, engine)
	renamed := admission{operation: operationUpdate, old: serviceObject("shop", both), object: serviceObject("shop", "{ports: [{port: 80}, {port: 90, name: rpc}]}")}
	if diff := cmp.Diff([]string{"GRPCRoute shop/named selects port grpc, which this change removes"}, ask(t, istio, renamed).Warnings); diff != "" {
		t.Errorf("a port is renamed, and the mesh ignores names (-want +got)\n%s", diff)
	}
	misspelled := strings.Replace(serviceObject("shop", http), "name: cart", "name: cart, labels: {gammaguard.dev/grant: all}, annotations: {gammaguard.dev/consumer-route-from: a=b}", 1)
	for old, want := range map[string][]string{
		serviceObject("shop", http): {
			"the label gammaguard.dev/grant has no effect here; these have: labels consumer-routes; annotations consumer-routes-from, consumer-route-kinds",
			"the annotation gammaguard.dev/consumer-route-from has no effect here; did you mean the annotation gammaguard.dev/consumer-routes-from?",
		},
		misspelled: nil,
	} {
		if diff := cmp.Diff(want, ask(t, handler, admission{operation: operationUpdate, old: old, object: misspelled}).Warnings); diff != "" {
			t.Errorf("misspelled keys (-want +got)\n%s", diff)
		}
	}
	unreadable := strings.Replace(serviceObject("shop", http), "name: cart", "name: cart, labels: {gammaguard.dev/consumer-routes: nope}, annotations: {gammaguard.dev/consumer-routes-from: team in web, gammaguard.dev/consumer-route-kinds: HTTPRoutes}", 1)
	for old, want := range map[string][]string{
		serviceObject("shop", http): {`unknown value "nope" of label`, "consumer-routes-from cannot be read", "consumer-route-kinds cannot be read"},
		unreadable:                  nil,
	} {
		got := ask(t, handler, admission{operation: operationUpdate, old: old, object: unreadable}).Warnings
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("values that cannot be read: want %q, got %q", want, got)
		}
	}
	o.Stored = storedRoutes{set, errors.New("too slow")}
	response := ask(t, previewServices(o, newEngine(t, nil)), admission{operation: operationUpdate, old: serviceObject("shop", http), object: serviceObject("shop", "{type: ExternalName, externalName: a.test}")})
	if !response.Allowed || strings.Join(response.Warnings, "") != undetermined {
		t.Errorf("a list fails: %+v", response)
	}
}

// TestServicesRefusing: a route that attached is counted, whatever refuses it once the Service that accepted it is another, or
// gone. One that is refused already is not, and a change of keys alone is not previewed.
func TestServicesRefusing(t *testing.T) {
	const (
		// What the namespace and the Service say.
		open, denying = "", ", gammaguard.dev/consumer-routes: deny"
		selecting     = "}, annotations: {gammaguard.dev/consumer-routes-from: a=b"
		none          = ""
		allow, deny   = ", labels: {gammaguard.dev/consumer-routes: allow}", ", labels: {gammaguard.dev/consumer-routes: deny}"
		selects       = ", annotations: {gammaguard.dev/consumer-routes-from: kubernetes.io/metadata.name=web}"

		http, other, alias = "{ports: [{port: 80}, {port: 81}]}", "{ports: [{port: 81}]}", "{type: ExternalName, externalName: a.test}"
		gone               = ""

		one  = "1 route of another namespace has this Service as a parent"
		own  = "HTTPRoute shop/own has this Service as a parent"
		port = "HTTPRoute shop/own selects port 80, which this change removes"
	)
	for _, test := range []struct {
		name      string
		byDefault mesh.ConsumerRoutes
		namespace string
		mode      mesh.Mode
		was, is   string
		spec      string
		want      []string
	}{
		{"deleted", mesh.ConsumersAllowed, denying, mesh.Enforce, allow, none, gone, []string{own, one}},
		{"deleted, and the namespace selects others", mesh.ConsumersAllowed, selecting, mesh.Enforce, selects, none, gone, []string{own, one}},
		{"deleted, and the configuration refuses", mesh.ConsumersDenied, open, mesh.Enforce, allow, none, gone, []string{own, one}},
		{"deleted, and it refused", mesh.ConsumersAllowed, open, mesh.Enforce, deny, none, gone, []string{own}},
		{"deleted, and it refused, which was not in force", mesh.ConsumersAllowed, open, mesh.Audit, deny, none, gone, []string{own, one}},
		{"deleted, and both refused", mesh.ConsumersAllowed, denying, mesh.Enforce, none, none, gone, []string{own}},
		{"a port goes", mesh.ConsumersAllowed, denying, mesh.Enforce, allow, allow, other, []string{port, one}},
		{"a port and the label go", mesh.ConsumersAllowed, denying, mesh.Enforce, allow, none, other, []string{port, one}},
		{"an alias without the label", mesh.ConsumersAllowed, denying, mesh.Enforce, allow, none, alias, []string{
			"spec.type: " + own + ", which cannot be of type ExternalName; change the route first (service-becomes-external-name)", one,
		}},
		{"the label goes", mesh.ConsumersAllowed, denying, mesh.Enforce, allow, none, http, nil},
		{"it begins to refuse", mesh.ConsumersAllowed, open, mesh.Enforce, none, deny, http, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s}, spec: {parentRefs: [{group: "", kind: Service, namespace: shop, name: cart, port: 80}]}}` + "\n---\n"
			set := world(t, fmt.Sprintf(route+route, "own, namespace: shop", "visitor, namespace: web")+
				"{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all"+test.namespace+"}}}\n---\n"+
				"{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all, kubernetes.io/metadata.name: web, gammaguard.dev/mode: "+string(test.mode)+"}}}")
			engine, err := validate.New(rules.Catalog(), &validate.Policy{Grants: mesh.GrantPolicy{ConsumerRoutes: test.byDefault}})
			if err != nil {
				t.Fatal(err)
			}
			o := options(t, set)
			o.Stored = storedRoutes{set, nil}
			service := func(keys, spec string) string {
				return strings.Replace(serviceObject("shop", spec), "name: cart", "name: cart"+keys, 1)
			}
			request := admission{operation: operationDelete, old: service(test.was, http)}
			if test.spec != gone {
				request.operation, request.object = operationUpdate, service(test.is, test.spec)
			}
			if diff := cmp.Diff(test.want, ask(t, previewServices(o, engine), request).Warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestServiceDeletedAsBackend: the deletion of a Service tells which mesh routes have it as a backend alone, by name those
// of its namespace, and is always admitted. No other change of a Service does.
func TestServiceDeletedAsBackend(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, namespace: %s}, spec: {parentRefs: [%s], rules: [{backendRefs: [{namespace: shop, name: cart, port: 80}]}]}}` + "\n---\n"
	const front = `{group: "", kind: Service, name: front}`
	set := world(t, fmt.Sprintf(route, "split", "shop", front)+fmt.Sprintf(route, "north", "shop", "{name: gateway}")+fmt.Sprintf(route, "visitor", "web", front)+
		fmt.Sprintf(route, "canary", "shop", front))
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	handler := previewServices(o, newEngine(t, nil))
	deleted := ask(t, handler, admission{operation: operationDelete, old: serviceObject("shop", "{ports: [{port: 80}]}")})
	want := []string{
		"HTTPRoute shop/split has this Service as a backend", "HTTPRoute shop/canary has this Service as a backend", // the older first
		"1 route of another namespace has this Service as a backend",
	}
	if diff := cmp.Diff(want, deleted.Warnings); diff != "" || !deleted.Allowed {
		t.Errorf("deleted (-want +got)\n%s", diff)
	}
	changed := ask(t, handler, admission{operation: operationUpdate, old: serviceObject("shop", "{ports: [{port: 80}]}"), object: serviceObject("shop", "{ports: [{port: 81}]}")})
	if len(changed.Warnings) > 0 || !changed.Allowed {
		t.Errorf("changed: %+v", changed)
	}
}

// TestServiceBecomesExternalName: a configuration can deny it, where routes of the Service's own
// namespace use the Service, by an update or by another creation.
func TestServiceBecomesExternalName(t *testing.T) {
	set := world(t, attachedCluster+"---\n{apiVersion: v1, kind: Namespace, metadata: {name: calm, labels: {gammaguard.dev/mode: warn}}}\n---\n"+
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: calm}, spec: {parentRefs: [{group: "", kind: Service, name: front}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`)
	o := options(t, set)
	o.Stored = storedRoutes{set, nil}
	const http, alias = "{ports: [{port: 80}]}", "{type: ExternalName, externalName: a.test}"
	for _, test := range []struct {
		name, namespace string
		action          validate.Action
		old, now        string
		allowed         bool
		warnings        int
	}{
		{"deny", "shop", validate.Deny, http, alias, false, 1},
		{"created", "shop", validate.Deny, "", alias, false, 0},
		{"created, and only a backend", "calm", validate.Warn, "", alias, true, 1},
		{"created, and of no use", "web", validate.Deny, "", alias, true, 0},
		{"created as another type", "shop", validate.Deny, "", http, true, 0},
		{"it was one", "shop", validate.Deny, alias, alias, true, 0},
		{"no route of the namespace", "web", validate.Deny, http, alias, true, 0},
		{"the namespace does not enforce", "calm", validate.Deny, http, alias, true, 1},
		{"audit", "calm", validate.Audit, http, alias, true, 0},
		{"off", "calm", validate.Off, http, alias, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := previewServices(o, newEngine(t, map[string]validate.Action{validate.RuleServiceBecomesExternalName: test.action}))
			request := admission{object: serviceObject(test.namespace, test.now)}
			if test.old != "" {
				request.operation, request.old = operationUpdate, serviceObject(test.namespace, test.old)
			}
			response := ask(t, handler, request)
			if response.Allowed != test.allowed || len(response.Warnings) != test.warnings {
				t.Fatalf("allowed %v, %q, want %v and %d warnings", response.Allowed, response.Warnings, test.allowed, test.warnings)
			}
			if response.Allowed {
				return
			}
			const want = `Service "cart" is invalid: [spec.type: Invalid value: "ExternalName": GRPCRoute shop/named has this Service as a parent, which cannot be of type ExternalName; change the route first (service-becomes-external-name), `
			if status := response.Result; status.Code != 422 || len(status.Details.Causes) != 4 || !strings.HasPrefix(status.Message, want) {
				t.Errorf("%+v", status)
			}
			if recorded := response.AuditAnnotations["findings"]; !strings.HasPrefix(recorded, "service-becomes-external-name spec.type deny") {
				t.Errorf("audit annotation %q", recorded)
			}
		})
	}
}
