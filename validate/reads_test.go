package validate_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// A world that cannot be asked leads to no verdict at all, whatever it was asked.
func TestErrorsOfTheWorldPropagate(t *testing.T) {
	policy := &validate.Policy{Actions: map[string]validate.Action{"backend-not-permitted": validate.Warn}}
	spec := on(service("cart")) + `, rules: [{matches: [{method: GET}], backendRefs: [{name: cart, port: 80}, {name: probe, namespace: lab, port: 80}]}]`
	for failing, name := range fixture.ReadNames {
		world := &fixture.Witness{Reader: newWorld(t, cluster, routeText(mesh.HTTPRoute, "shop", "old", on(service("cart")))), Failing: map[mesh.ReadKind]bool{failing: true}}
		verdict, err := newEngine(t, policy).Judge(&validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec)}, world)
		if !errors.Is(err, fixture.ErrAsked) || len(verdict.Findings) > 0 {
			t.Errorf("where %s cannot be read: verdict %+v, error %v", name, verdict, err)
		}
	}
}

// A world that knows nothing denies nothing and warns of nothing: it leads to
// unknowns.
func TestUnknownWorld(t *testing.T) {
	world := fixture.Unknowing{}
	engine := newEngine(t, &validate.Policy{Actions: map[string]validate.Action{"backend-not-permitted": validate.Deny}})
	spec := on(service("cart, namespace: faces"), service("own")) + `, rules: [{backendRefs: [{name: cart, namespace: faces, port: 80}]}]`
	verdict, err := engine.Judge(&validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec)}, world)
	if err != nil || len(verdict.Findings) > 0 {
		t.Fatalf("findings %+v, error %v", verdict.Findings, err)
	}
	var got []string
	for _, f := range verdict.Unknown {
		got = append(got, f.Rule+" at "+f.Field)
	}
	want := []string{
		"grant-missing at spec.parentRefs[0]",
		"grant-missing at spec.parentRefs[1]",
		"consumer-refused at spec.parentRefs[0]",
		"backend-not-found at spec.rules[0].backendRefs[0].name",
		"backend-not-permitted at spec.rules[0].backendRefs[0].namespace",
		"parent-not-found at spec.parentRefs[0].name",
		"parent-not-found at spec.parentRefs[1].name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unknowns (-want +got):\n%s", diff)
	}
}

// The handshake cannot be known only if neither side of it is: each alone can
// refuse, or welcome.
func TestUnknownHandshake(t *testing.T) {
	policy := only(map[string]validate.Action{"consumer-refused": validate.Deny})
	for _, test := range []struct {
		name, ref            string
		namespaces, services bool // what the world knows
		want, unknown        []string
	}{
		{"neither", "cart, namespace: shop", false, false, nil, []string{"whether Service shop/cart accepts consumer routes"}},
		{"the namespace, which welcomes", "cart, namespace: shop", true, false, nil, nil},
		{"the namespace, which refuses", "lobby, namespace: closed", true, false, []string{"namespace closed refuses consumer routes"}, nil},
		{"both", "lobby, namespace: closed", true, true, nil, nil},
		{"the Service, which says nothing", "cart, namespace: shop", false, true, nil, nil},
		{"the Service, which refuses", "shy, namespace: shop", false, true, []string{"Service shop/shy refuses consumer routes"}, nil},
	} {
		world := &partial{Reader: newWorld(t, cluster), namespaces: test.namespaces, services: test.services}
		verdict := judge(t, policy, world, &validate.Request{Route: newRoute(t, mesh.HTTPRoute, "faces", on(service(test.ref)))})
		var got, unknown []string
		for _, f := range verdict.Findings {
			got = append(got, f.Problem)
		}
		for _, f := range verdict.Unknown {
			unknown = append(unknown, f.Problem)
		}
		if diff := cmp.Diff([][]string{test.want, test.unknown}, [][]string{got, unknown}); diff != "" {
			t.Errorf("%s is known: findings and unknowns (-want +got):\n%s", test.name, diff)
		}
	}
}

// partial is a world that may not know of namespaces or Services.
type partial struct {
	mesh.Reader
	namespaces, services bool
}

// Do implements mesh.Reader.
func (w *partial) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadNamespace && !w.namespaces || read.Kind == mesh.ReadService && !w.services {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return w.Reader.Do(read)
}

// Where ServiceImports are not served, the message says so.
func TestNotServed(t *testing.T) {
	world := notServing{newWorld(t, cluster)}
	spec := on(serviceImport("cards")) + to(`{group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}`)
	verdict, err := newEngine(t, nil).Judge(&validate.Request{Route: newRoute(t, mesh.HTTPRoute, "shop", spec)}, world)
	if err != nil {
		t.Fatal(err)
	}
	const why = "ServiceImport shop/cards cannot exist: the CRD of ServiceImport (multicluster.x-k8s.io) is not installed; " +
		"install the Multi-Cluster Services API, or refer to a Service"
	want := []string{
		"deny spec.parentRefs[0].name: " + why + " (parent-not-found)",
		"warn spec.rules[0].backendRefs[0].name: " + why + " (backend-not-found)",
	}
	if diff := cmp.Diff(want, told(verdict)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// notServing is a world without the kind ServiceImport.
type notServing struct{ mesh.Reader }

// Do implements mesh.Reader.
func (w notServing) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadService && read.Service.Kind == mesh.ServiceImportKind {
		return mesh.Answer{Err: mesh.ErrNotServed}
	}
	return w.Reader.Do(read)
}

// told returns the effect and the warning of each finding.
func told(verdict validate.Verdict) []string {
	var lines []string
	for _, f := range verdict.Findings {
		lines = append(lines, string(f.Effect)+" "+f.Warning())
	}
	return lines
}

// inShort returns the effect, the field and the rule of each finding.
func inShort(verdict validate.Verdict) []string {
	var lines []string
	for _, f := range verdict.Findings {
		lines = append(lines, string(f.Effect)+" "+f.Field+" "+f.Rule)
	}
	return lines
}
