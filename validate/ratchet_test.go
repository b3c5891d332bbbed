package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// An update denies only what it brings in. A fault is the same one if its rule and
// its reference are, wherever that stands in the list.
func TestRatchet(t *testing.T) {
	backends := func(refs string) string { return on(service("cart")) + to(refs) }
	for _, test := range []struct {
		name      string
		rule      string
		kind      mesh.RouteKind
		old, spec string
		// denied and downgraded are the fields of the findings with either effect.
		denied, downgraded []string
	}{
		{"unchanged", "parent-headless", mesh.HTTPRoute, on(service("headless")), on(service("headless")), nil, []string{"spec.parentRefs[0].name"}},
		{"another field changed", "parent-headless", mesh.HTTPRoute, on(service("headless")), on(service("headless")) + catchAll, nil, []string{"spec.parentRefs[0].name"}},
		{"index moved", "parent-headless", mesh.HTTPRoute, on(service("headless")), on(service("cart"), service("headless")), nil, []string{"spec.parentRefs[1].name"}},
		{"namespace spelled out", "parent-headless", mesh.HTTPRoute, on(service("headless")), on(service("headless, namespace: shop")), nil, []string{"spec.parentRefs[0].name"}},
		{"brought in", "parent-headless", mesh.HTTPRoute, on(service("cart")), on(service("cart"), service("headless")), []string{"spec.parentRefs[1].name"}, nil},
		{"one old, one new", "parent-headless", mesh.HTTPRoute, on(service("headless")), on(serviceImport("loose"), service("headless")), []string{"spec.parentRefs[0].name"}, []string{"spec.parentRefs[1].name"}},
		{"another fault of the same Service", "parent-external-name", mesh.HTTPRoute, on(service("headless")), on(service("alias")), []string{"spec.parentRefs[0].name"}, nil},

		{"the same wrong port", "parent-port-not-found", mesh.HTTPRoute, on(service("cart, port: 81")), on(service("one"), service("cart, port: 81")), nil, []string{"spec.parentRefs[1].port"}},
		{"another wrong port", "parent-port-not-found", mesh.HTTPRoute, on(service("cart, port: 81")), on(service("cart, port: 82")), []string{"spec.parentRefs[0].port"}, nil},
		{"a wrong name instead of a wrong port", "parent-port-not-found", mesh.HTTPRoute, on(service("cart, port: 81")), on(service("cart, sectionName: a")), []string{"spec.parentRefs[0].sectionName"}, nil},
		{"the same wrong port of another Service", "parent-port-not-found", mesh.HTTPRoute, on(service("cart, port: 81")), on(service("one, port: 81")), []string{"spec.parentRefs[0].port"}, nil},

		{"the same wrong transport", "parent-protocol-mismatch", mesh.HTTPRoute, on(service("syslog")), on(service("cart"), service("syslog")), nil, []string{"spec.parentRefs[1].name"}},
		{"a wrong transport by port", "parent-protocol-mismatch", mesh.HTTPRoute, on(service("syslog")), on(service("syslog, port: 514")), []string{"spec.parentRefs[0].port"}, nil},

		{"duplicates change places", "parent-duplicate", mesh.HTTPRoute, on(service("cart, port: 80"), service("cart, sectionName: http")), on(service("cart, sectionName: http"), service("cart, port: 80")), nil, []string{"spec.parentRefs[1]"}},
		{"one of three duplicates goes", "parent-duplicate", mesh.HTTPRoute, on(service("one"), service("one, port: 80"), service("one, sectionName: http")), on(service("one, port: 80"), service("one, sectionName: http")), nil, []string{"spec.parentRefs[1]"}},
		{"a duplicate of another port", "parent-duplicate", mesh.HTTPRoute, on(service("cart, port: 80"), service("cart, sectionName: http")), on(service("cart, port: 8080"), service("cart, sectionName: admin")), []string{"spec.parentRefs[1]"}, nil},

		{"the same wrong group", "parent-group-invalid", mesh.HTTPRoute, on(`{group: core, kind: Service, name: cart}`), on(`{name: edge}`, `{group: core, kind: Service, name: cart, port: 80}`), nil, []string{"spec.parentRefs[1].group"}},
		{"another wrong group", "parent-group-invalid", mesh.HTTPRoute, on(`{group: core, kind: Service, name: cart}`), on(`{group: v1, kind: Service, name: cart}`), []string{"spec.parentRefs[0].group"}, nil},

		{"the same missing parent", "parent-not-found", mesh.HTTPRoute, on(service("gone")), on(service("gone, port: 80")), nil, []string{"spec.parentRefs[0].name"}},
		{"another missing parent", "parent-not-found", mesh.HTTPRoute, on(service("gone")), on(service("lost")), []string{"spec.parentRefs[0].name"}, nil},

		{"a backend moved", "backend-external-name", mesh.HTTPRoute, backends(`{name: alias, port: 80}`), backends(`{name: cart, port: 80}, {name: alias, port: 80, weight: 0}`), nil, []string{"spec.rules[0].backendRefs[1].name"}},
		{"another backend", "backend-external-name", mesh.HTTPRoute, backends(`{name: alias, port: 80}`), backends(`{name: alias-none, port: 80}`), []string{"spec.rules[0].backendRefs[0].name"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			verdict := judge(t, only(map[string]validate.Action{test.rule: validate.Deny}), newWorld(t, cluster), &validate.Request{
				Route: newRoute(t, test.kind, "shop", test.spec),
				Old:   routeJSON(t, test.kind, "shop", test.old),
			})
			var denied, downgraded []string
			for _, f := range verdict.Findings {
				switch {
				case f.Action != validate.Deny || f.Rule != test.rule:
					t.Errorf("unexpected finding %+v", f)
				case f.Effect == validate.Deny && f.Downgraded == validate.NotDowngraded:
					denied = append(denied, f.Field)
				case f.Effect == validate.Warn && f.Downgraded == validate.DowngradedByUpdate:
					downgraded = append(downgraded, f.Field)
				default:
					t.Errorf("effect %s, downgraded by %q", f.Effect, f.Downgraded)
				}
			}
			if diff := cmp.Diff(test.denied, denied); diff != "" {
				t.Errorf("denied (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.downgraded, downgraded); diff != "" {
				t.Errorf("downgraded to warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A fault that the world brought, such as a Service that became headless, is the
// old object's too.
func TestRatchetLooksAtOneWorld(t *testing.T) {
	route, old := newRoute(t, mesh.HTTPRoute, "shop", on(service("headless"))), routeJSON(t, mesh.HTTPRoute, "shop", on(service("headless")))
	verdict := judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route, Old: old})
	want := []string{"warn spec.parentRefs[0].name parent-headless"}
	if diff := cmp.Diff(want, inShort(verdict)); diff != "" || verdict.Findings[0].Downgraded != validate.DowngradedByUpdate {
		t.Errorf("%+v (-want +got):\n%s", verdict.Findings, diff)
	}
	verdict = judge(t, &validate.Policy{Mode: mesh.Warn}, newWorld(t, cluster), &validate.Request{Route: route, Old: old})
	if diff := cmp.Diff(want, inShort(verdict)); diff != "" || verdict.Findings[0].Downgraded != validate.DowngradedByUpdate {
		t.Errorf("in mode warn, which changes nothing (-want +got):\n%s", diff)
	}
}

// Grants and the handshake have no ratchet: who may is asked at every change.
func TestGrantsHaveNoRatchet(t *testing.T) {
	for _, test := range []struct{ namespace, spec, want string }{
		{"lab", on(service("probe")), "grant-missing"},
		{"faces", on(service("shy, namespace: shop")), "consumer-refused"},
	} {
		verdict := judge(t, nil, newWorld(t, cluster), &validate.Request{
			Route:  newRoute(t, mesh.HTTPRoute, test.namespace, test.spec),
			Object: routeJSON(t, mesh.HTTPRoute, test.namespace, test.spec),
			Old:    routeJSON(t, mesh.HTTPRoute, test.namespace, test.spec+catchAll),
		})
		if denials := with(verdict, validate.Deny); len(denials) != 1 || denials[0].Rule != test.want {
			t.Errorf("denials %+v, want one of %s", denials, test.want)
		}
	}
}

func TestRatchetOld(t *testing.T) {
	route := newRoute(t, mesh.HTTPRoute, "shop", on(service("headless")))
	old := routeJSON(t, mesh.HTTPRoute, "shop", on(service("headless")))
	_, err := newEngine(t, nil).Judge(&validate.Request{Route: route, Old: []byte(`{"kind": "HTTPRoute", "spec": []}`)}, newWorld(t, cluster))
	if err == nil || !strings.HasPrefix(err.Error(), "oldObject: ") {
		t.Errorf("an old object that cannot be read: error %v", err)
	}
	verdict := judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route})
	if !verdict.Denied() {
		t.Error("a CREATE, which has no old object, is downgraded")
	}
	world := &failsLater{Reader: newWorld(t, cluster), good: 1}
	_, err = newEngine(t, only(map[string]validate.Action{"parent-headless": validate.Deny})).Judge(&validate.Request{Route: route, Old: old}, world)
	if !errors.Is(err, fixture.ErrAsked) {
		t.Errorf("where the world fails for the old object: error %v", err)
	}
}

// failsLater is a world that answers for that many Services, and then fails.
type failsLater struct {
	mesh.Reader
	good int
}

// Do implements mesh.Reader.
func (w *failsLater) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadService {
		if w.good == 0 {
			return mesh.Answer{Err: fixture.ErrAsked}
		}
		w.good--
	}
	return w.Reader.Do(read)
}
