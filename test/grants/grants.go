// Package grants makes random configurations, namespaces, and writes of routes, and has the
// engine judge whether a grant is missing: the answer that a policy in the API server must give
// too.
package grants

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Request is a write of a route.
type Request struct {
	Kind mesh.RouteKind
	// Route is the route as it is to be, and Old, on an update, as it is.
	Route, Old map[string]any
	Namespace  *corev1.Namespace
	User       validate.User
}

// Answer is what becomes of a missing grant: the effect, with what is said. Off is the effect
// where none is missing.
type Answer struct {
	Effect  validate.Action
	Message string
}

// Chance makes random values.
type Chance struct{ *rand.Rand }

// New returns the values that follow from the seed.
func New(seed uint64) Chance { return Chance{rand.New(rand.NewPCG(seed, 0))} }

func of[T any](c Chance, items ...T) T { return items[c.IntN(len(items))] }

// some returns some of the items.
func some[T any](c Chance, items ...T) []T {
	return slices.DeleteFunc(slices.Clone(items), func(T) bool { return c.IntN(2) == 0 })
}

// atLeastOne returns some of the items, or the first.
func atLeastOne[T any](c Chance, items ...T) []T {
	if all := some(c, items...); len(all) > 0 {
		return all
	}
	return items[:1]
}

var tiers = []string{"platform", "edge", "a"}

// Configuration returns one that the file could hold.
func (c Chance) Configuration() *config.GuardConfiguration {
	g := config.Default(config.WithMesh(of(c, append(mesh.ProfileNames(), "")...)))
	g.Mode = of(c, mesh.Modes()...)
	g.Grants.Default = of(c, append(mesh.Grants(), mesh.GrantNone)...)
	g.Grants.Contact = of(c, "", "#mesh", "O'Neil \"x\" \\ https://a.test/?b='c'", "Zoë")
	if c.IntN(2) == 0 {
		g.Grants.ParentKinds = some(c, "ServiceEntry.networking.istio.io", "Service.serving.knative.dev", "Mesh.acme.example", "EgressNetwork.policy.linkerd.io", "Gateway.acme.example")
	}
	for range c.IntN(4) {
		s := config.GrantSelector{NamespaceSelector: &metav1.LabelSelector{}, Roles: atLeastOne(c, mesh.Producer, mesh.Consumer)}
		if c.IntN(2) == 0 {
			s.NamespaceSelector.MatchLabels = map[string]string{of(c, "tier", "team"): of(c, tiers...)}
		}
		for range c.IntN(3) {
			r := metav1.LabelSelectorRequirement{Key: of(c, "tier", "team", "example.com/o"), Operator: of(c, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
			if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
				r.Values = atLeastOne(c, append(tiers, "")...)
			}
			s.NamespaceSelector.MatchExpressions = append(s.NamespaceSelector.MatchExpressions, r)
		}
		if c.IntN(2) == 0 {
			s.RouteKinds = atLeastOne(c, mesh.RouteKinds()...)
		}
		g.Grants.Selectors = append(g.Grants.Selectors, s)
	}
	if c.IntN(3) == 0 {
		g.Exemptions = config.Exemptions{Usernames: some(c, "jane", "o'neil\"\\\n"), Groups: some(c, "ops", "system:masters"), Namespaces: some(c, "shop", "kube-system")}
	}
	if c.IntN(4) == 0 {
		g.Rules = map[string]config.RuleAction{"grant-missing": config.RuleAction(of(c, validate.Actions()...))}
	}
	return g
}

// Namespace returns one with labels, ours among them, known values and others.
func (c Chance) Namespace() *corev1.Namespace {
	all := map[string]string{}
	for key, values := range map[string][]string{
		mesh.GrantLabel:          {"none", "producer", "consumer", "all", "Producer", "", "none"},
		mesh.ModeLabel:           {"enforce", "warn", "audit", "Audit", ""},
		mesh.ConsumerRoutesLabel: {"allow", "deny"},
		"tier":                   append(tiers, ""), "team": tiers, "example.com/o": tiers,
	} {
		if c.IntN(2) == 0 {
			all[key] = of(c, values...)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of(c, "shop", "lab"), Labels: all}}
	if c.IntN(2) == 0 {
		namespace.Annotations = map[string]string{mesh.GrantRouteKindsAnnotation: of(c,
			"HTTPRoute", " GRPCRoute,\tHTTPRoute\n", "TCPRoute,TLSRoute,TCPRoute", "GRPCRoute,HTTPRoute,TLSRoute,TCPRoute,UDPRoute",
			"", ",", "HTTPRoute,", "HTTPRoute;GRPCRoute", "httproute", "HTTPRoute,Zoë", "HTTPRoute.policy.linkerd.io", "\u00a0UDPRoute\u2003",
			strings.Repeat("HTTPRoute,", 409)+"TCPRoute", strings.Repeat("ë", 2048)+",", strings.Repeat("HTTPRoute,", 500)+"HTTPRoute")}
	}
	return namespace
}

// parent returns a parentRef that some mesh may read.
func (c Chance) parent() map[string]any {
	ref := map[string]any{"name": "cart"}
	if c.IntN(6) > 0 {
		ref["kind"] = of(c, "Service", "Service", "service", "SERVICE", "ServiceImport", "serviceimport", "Gateway", "gateway", "ListenerSet", "ServiceEntry", "serviceentry", "EgressNetwork", "Mesh", "Services")
	}
	if c.IntN(4) > 0 {
		ref["group"] = of(c, "", "", "core", "Core", "v1", "core/v1", "/v1", "v1/x", mesh.GatewayGroup, mesh.GatewayGroup+"/v1", mesh.MulticlusterGroup, mesh.MulticlusterGroup+"/v1alpha1",
			"networking.istio.io", "NETWORKING.istio.io", "serving.knative.dev", "policy.linkerd.io", "POLICY.Linkerd.io", "acme.example", "x.core")
	}
	if c.IntN(2) == 0 {
		ref["namespace"] = of(c, "shop", "lab", "other")
	}
	return ref
}

// meta returns labels or annotations.
func (c Chance) meta() map[string]any {
	all := map[string]any{}
	for _, key := range some(c, "istio.io/rev", "timeout.linkerd.io/request", "team", "notistio.io/x", "istio.io", "a.b.kuma.io/x", mesh.IgnoreAnnotation) {
		all[key] = of(c, "a", "b")
		if key == mesh.IgnoreAnnotation {
			all[key] = of(c, "grant-missing", "no-catch-all, grant-missing", "no-catch-all", "grant-missing-2", " grant-missing ,")
		}
	}
	return all
}

// route returns a route of the kind.
func (c Chance) route(kind mesh.RouteKind, namespace string) map[string]any {
	meta := map[string]any{"name": "cart", "namespace": namespace}
	for _, field := range some(c, "labels", "annotations") {
		meta[field] = c.meta()
	}
	if c.IntN(5) == 0 {
		meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", []any{"a.test/b"}
	}
	object := map[string]any{"apiVersion": kind.Group() + "/v1", "kind": kind.Name(), "metadata": meta}
	spec := map[string]any{}
	if c.IntN(10) > 0 {
		refs := []any{}
		for range of(c, 0, 1, 1, 1, 2, 3, 32) {
			refs = append(refs, c.parent())
		}
		spec["parentRefs"] = refs
	}
	if c.IntN(3) > 0 {
		spec["rules"] = []any{map[string]any{"name": of(c, "a", "b")}}
	}
	if c.IntN(20) > 0 {
		object["spec"] = spec
	}
	return object
}

// before returns what a route may have been before an update.
func (c Chance) before(kind mesh.RouteKind, now map[string]any) map[string]any {
	namespace, _ := now["metadata"].(map[string]any)["namespace"].(string)
	old := c.route(kind, namespace)
	switch c.IntN(3) {
	case 0: // all of it may differ
	case 1:
		copied(old, now, "spec")
	case 2: // only what meshes do not read differs, or nothing does
		copied(old, now, "spec")
		meta := maps.Clone(now["metadata"].(map[string]any))
		delete(meta, "deletionTimestamp")
		if c.IntN(2) == 0 {
			annotations := map[string]any{"note": "x"}
			if all, ok := meta["annotations"].(map[string]any); ok {
				maps.Copy(annotations, all)
			}
			meta["annotations"] = annotations
		}
		old["metadata"] = meta
	}
	return old
}

func copied(to, from map[string]any, field string) {
	delete(to, field)
	if value, ok := from[field]; ok {
		to[field] = value
	}
}

// Request returns a write of a route of one of the kinds.
func (c Chance) Request(namespace *corev1.Namespace, kinds ...mesh.RouteKind) *Request {
	r := &Request{Kind: of(c, kinds...), Namespace: namespace}
	r.Route = c.route(r.Kind, r.Namespace.Name)
	if c.IntN(2) == 0 {
		r.Old = c.before(r.Kind, r.Route)
	}
	r.User = validate.User{Name: of(c, "jane", "o'neil\"\\\n", "dev"), Groups: some(c, "ops", "system:masters", "system:authenticated")}
	return r
}

// Judged is the engine's answer: the first finding of the rule.
func (r *Request) Judged(engine *validate.Engine) (Answer, error) {
	text := Encoded(r.Route)
	route, err := mesh.DecodeRoute(text)
	if err != nil {
		return Answer{}, err
	}
	var object mesh.NamespaceObject
	if err := mesh.Decode(Encoded(r.Namespace), &object); err != nil {
		return Answer{}, err
	}
	namespace := object.Reduce()
	world := mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		if read.Kind == mesh.ReadNamespace && read.Namespace == namespace.Name {
			return mesh.Answer{Namespace: namespace}
		}
		return mesh.Answer{Err: mesh.ErrNotFound}
	})
	judged := &validate.Request{Route: route, User: r.User}
	if r.Old != nil {
		judged.Object, judged.Old = text, Encoded(r.Old)
	}
	verdict, err := engine.Judge(judged, world)
	if err != nil {
		return Answer{}, err
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if f.Rule != "grant-missing" {
			continue
		}
		if f.Effect == validate.Off {
			break
		}
		plain := *f // as one that denies
		plain.Effect = plain.Action
		return Answer{f.Effect, strings.Replace(plain.FieldError().Error(), "would be denied: ", "", 1)}, nil
	}
	return Answer{Effect: validate.Off}, nil
}

// Encoded returns an object as JSON.
func Encoded(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // of strings
	}
	return text
}
