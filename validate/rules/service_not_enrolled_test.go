package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
)

func TestServiceNotEnrolled(t *testing.T) {
	cart := on(service("cart, namespace: shop, port: 80"))
	home := func(labels string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all, " + labels + "}}}\n---\n"
	}
	clients := func(labels, annotations string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: faces, labels: {gammaguard.dev/grant: all, " + labels + "}, annotations: {" + annotations + "}}}\n---\n"
	}
	waypoint := func(name string) string {
		return "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart, labels: {istio.io/use-waypoint: " + name + "}}, spec: {ports: [{port: 80}]}}\n---\n"
	}
	const (
		ambient    = "istio.io/dataplane-mode: ambient"
		noWaypoint = `Invalid spec.parentRefs[0].name "cart": neither the Service nor its namespace has the label istio.io/use-waypoint, so ambient mode applies no route on it; set the label to the name of a waypoint`
		notAdded   = `Invalid spec.parentRefs[0].name "cart": by its labels and annotations, namespace faces has no Pods in `
	)
	testRule(t, serviceNotEnrolled(), []ruleCase{
		{name: "no mesh", spec: cart, routes: home(ambient)},
		{name: "sidecars", policy: under(mesh.Istio), spec: cart},
		{name: "an ambient namespace", policy: under(mesh.Istio), spec: cart, routes: home(ambient), want: []string{noWaypoint}},
		{name: "with a waypoint", policy: under(mesh.Istio), spec: cart, routes: home(ambient + ", istio.io/use-waypoint: w")},
		{name: "with a waypoint for the Service", policy: under(mesh.Istio), spec: cart, routes: home(ambient) + waypoint("w")},
		{
			name: "with none for the Service", policy: under(mesh.Istio), spec: cart,
			routes: home(ambient+", istio.io/use-waypoint: w") + waypoint("none"), want: []string{noWaypoint},
		},
		{
			name: "clients without sidecars", policy: under(mesh.Istio), namespace: "faces", spec: cart,
			want: []string{notAdded + "Istio: if so, the route has no effect; label the namespace istio-injection=enabled, or with istio.io/rev"},
		},
		{
			name: "clients with injection turned off", policy: under(mesh.Istio), namespace: "faces", spec: cart, routes: clients("istio-injection: disabled", ""),
			want: []string{notAdded + "Istio: if so, the route has no effect; label the namespace istio-injection=enabled, or with istio.io/rev"},
		},
		{name: "clients with sidecars", policy: under(mesh.Istio), namespace: "faces", spec: cart, routes: home(ambient) + clients("istio-injection: enabled", "")},
		{name: "clients of a revision", policy: under(mesh.Istio), namespace: "faces", spec: cart, routes: clients("istio.io/rev: canary", "")},
		{name: "ambient clients", policy: under(mesh.Istio), namespace: "faces", spec: cart, routes: clients(ambient, ""), want: []string{noWaypoint}},
		{
			name: "clients without Linkerd's proxies", policy: under(mesh.Linkerd), namespace: "faces", spec: cart, routes: clients("linkerd.io/inject: enabled", "linkerd.io/inject: disabled"),
			want: []string{notAdded + "Linkerd: if so, the route has no effect; annotate the namespace with linkerd.io/inject=enabled"},
		},
		{name: "clients with Linkerd's proxies", policy: under(mesh.Linkerd), namespace: "faces", spec: cart, routes: clients("", "linkerd.io/inject: ingress")},
		{
			name: "clients without Kuma's proxies", policy: under(mesh.Kuma), namespace: "faces", spec: cart,
			want: []string{notAdded + "Kuma: if so, the route has no effect; label the namespace kuma.io/sidecar-injection=enabled"},
		},
		{name: "clients with Kuma's proxies", policy: under(mesh.Kuma), namespace: "faces", spec: cart, routes: clients("kuma.io/sidecar-injection: enabled", "")},
		{name: "a mesh that ignores the route", policy: under(mesh.Cilium), namespace: "faces", spec: cart},
	})
}

// TestNotEnrolledWithoutTheService: that the clients have no proxies depends on their namespace alone. Whether a Service that is not
// known has a waypoint is not known.
func TestNotEnrolledWithoutTheService(t *testing.T) {
	for _, test := range []struct {
		name, labels string
		mesh         mesh.ProfileName
		want         int
	}{
		{"clients outside the mesh", "a: b", mesh.Istio, 1},
		{"clients in the mesh", "istio-injection: enabled", mesh.Istio, 0},
		{"ambient clients", "istio.io/dataplane-mode: ambient", mesh.Istio, 0},
		{"a mesh that ignores the route", "a: b", mesh.Cilium, 0},
	} {
		c := ruleCase{kind: mesh.HTTPRoute, namespace: "faces", spec: on(service("cart, namespace: shop, port: 80")), policy: under(test.mesh)}
		world := fixture.NewWorldWith(t, manifest.Options{}, "{apiVersion: v1, kind: Namespace, metadata: {name: faces, labels: {"+test.labels+"}}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
		found, _, err := c.run(t, serviceNotEnrolled(), world)
		if len(found) != test.want || err != nil {
			t.Errorf("%s: %d findings, want %d; error %v", test.name, len(found), test.want, err)
		}
	}
}
