package validate_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// judgeTwice judges the request twice, as a CREATE and as an UPDATE of itself, and
// holds the verdicts to what is true of all. It returns the verdict on the CREATE.
func judgeTwice(t *testing.T, engine *validate.Engine, world mesh.Reader, route *mesh.Route, raw []byte) validate.Verdict {
	t.Helper()
	req := &validate.Request{Route: route}
	first, err := engine.Judge(req, world)
	if err != nil {
		t.Fatal(err)
	}
	second, err := engine.Judge(req, world)
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(validate.Finding{})); err != nil || diff != "" {
		t.Fatalf("the second verdict is another one (error %v):\n%s", err, diff)
	}
	for i, f := range first.Findings {
		if rules.Find(f.Rule) == nil || f.Field == "" || f.Problem == "" || f.Remedy == "" || f.Action == "" || f.Effect == "" {
			t.Errorf("incomplete finding %+v", f)
		}
		if i > 0 && validate.ComparePaths(first.Findings[i-1].Field, f.Field) > 0 {
			t.Errorf("%s stands before %s", first.Findings[i-1].Field, f.Field)
		}
	}
	verdict, err := engine.Judge(&validate.Request{Route: route, Object: raw, Old: raw}, world)
	if err != nil || verdict.Denied() {
		t.Errorf("an update that changes nothing is denied (error %v): %q", err, told(verdict))
	}
	return first
}

// scenarioRoutes returns the routes that the scenarios apply, in JSON.
func scenarioRoutes(f *testing.F) (routes [][]byte) {
	f.Helper()
	files, err := filepath.Glob("../test/scenarios/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if !strings.HasPrefix(part.Name, "apply") {
				continue
			}
			objects, _ := manifest.Read(file, part.Data, "default") // some are broken on purpose
			for _, object := range objects {
				if object.Route != nil {
					routes = append(routes, object.JSON)
				}
			}
		}
	}
	if len(routes) < 200 {
		f.Fatalf("%d routes", len(routes))
	}
	return routes
}

func FuzzJudgeRoute(f *testing.F) {
	for _, seed := range scenarioRoutes(f) {
		f.Add(seed)
	}
	f.Add([]byte(`{"kind": "HTTPRoute", "metadata": {"namespace": "shop", "deletionTimestamp": "2024-05-06T07:08:09Z"}}`))
	f.Add([]byte(`{"kind": "GRPCRoute", "spec": {"parentRefs": [{"group": "", "kind": "Service", "namespace": "", "name": ""}]}}`))
	f.Add([]byte(`{"kind": "UDPRoute", "metadata": {"namespace": "shop"}, "spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "dns", "port": -53}], "rules": [null]}}`))
	policy := &validate.Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}, Actions: map[string]validate.Action{"backend-not-permitted": validate.Deny}}
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		f.Fatal(err)
	}
	others := routeText(mesh.HTTPRoute, "shop", "old", on(service("cart"))+getOnly) + routeText(mesh.GRPCRoute, "shop", "grpc", on(service("cart, port: 80")))
	world := newWorld(f, cluster, others)
	f.Fuzz(func(t *testing.T, data []byte) {
		route, err := mesh.DecodeRoute(data)
		if err != nil {
			return
		}
		judgeTwice(t, engine, world, route, data)
	})
}

// written returns the route in JSON.
func written(t *testing.T, route *mesh.Route) []byte {
	t.Helper()
	raw, err := json.Marshal(route)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzJudgeNamespace judges one route under any labels of its namespace and its
// Service's. Only the known words open anything.
func FuzzJudgeNamespace(f *testing.F) {
	for _, grant := range []string{"none", "producer", "consumer", "all", "", "Consumer", " all"} {
		for _, mode := range []string{"enforce", "warn", "audit", "", "off"} {
			f.Add(grant, mode, "allow", "")
		}
	}
	for _, word := range []string{"allow", "deny", "", "Allow"} {
		f.Add("all", "enforce", word, "deny")
		f.Add("all", "enforce", "deny", word)
	}
	f.Fuzz(func(t *testing.T, grant, mode, consumers, own string) {
		world := &labeledWorld{grant: grant, mode: mode, consumers: consumers, own: own}
		verdict := judgeTwice(t, newEngine(t, nil), world, newRoute(t, mesh.HTTPRoute, "mine", on(service("cart, namespace: shop"))), routeJSON(t, mesh.HTTPRoute, "mine", on(service("cart, namespace: shop"))))
		granted := grant == "consumer" || grant == "all"
		welcome := own == "allow" || own == "" && (consumers == "allow")
		relaxed := mode == "warn" || mode == "audit"
		if want := !relaxed && (!granted || !welcome); verdict.Denied() != want {
			t.Errorf("denied = %v, want %v: %q", verdict.Denied(), want, told(verdict))
		}
	})
}

// labeledWorld is a world of one consumer namespace, one producer namespace and one
// Service, with these labels.
type labeledWorld struct {
	fixture.Unknowing
	grant, mode, consumers, own string
}

// Do implements mesh.Reader.
func (w *labeledWorld) Do(read mesh.Read) mesh.Answer {
	switch {
	case read.Kind == mesh.ReadNamespace && read.Namespace == "mine":
		return mesh.Answer{Namespace: &mesh.Namespace{Name: "mine", Labels: map[string]string{mesh.GrantLabel: w.grant, mesh.ModeLabel: w.mode}}}
	case read.Kind == mesh.ReadNamespace:
		return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: map[string]string{mesh.ConsumerRoutesLabel: w.consumers}}}
	case read.Kind == mesh.ReadService:
		service := &mesh.Service{Key: read.Service, Type: mesh.ClusterIP, Ports: []mesh.Port{{Number: 80, Protocol: mesh.TCP}}}
		service.ConsumerRoutes = w.own
		return mesh.Answer{Service: service}
	}
	return w.Unknowing.Do(read)
}

// FuzzJudgePorts judges a route that selects by port and name on a Service with
// any ports, written as lines of "number name protocol appProtocol". Of the rules
// that refuse a parent at most one fires.
func FuzzJudgePorts(f *testing.F) {
	f.Add("HTTPRoute", "ClusterIP", false, "80 http TCP http", int32(80), "")
	f.Add("UDPRoute", "ClusterIP", false, "53 dns UDP\n53 dns-tcp TCP", int32(53), "dns")
	f.Add("TCPRoute", "ExternalName", true, "80 a TCP", int32(81), "b")
	f.Add("GRPCRoute", "ClusterIP", true, "", int32(0), "")
	f.Add("TLSRoute", "LoadBalancer", false, "443 tls SCTP\n443 tls TCP tls\n-1 \n", int32(-1), "tls")
	f.Fuzz(func(t *testing.T, kind, serviceType string, headless bool, ports string, port int32, name string) {
		if !mesh.IsRouteKind(kind) || !utf8.ValidString(name) { // the decoder refuses such names
			return
		}
		cart := &mesh.Service{Type: mesh.ServiceType(serviceType), Headless: headless}
		for line := range strings.Lines(ports) {
			var p mesh.Port
			_, _ = fmt.Sscan(line, &p.Number, &p.Name, &p.Protocol, &p.AppProtocol) // what is missing stays empty
			cart.Ports = append(cart.Ports, p)
		}
		group := ""
		route := &mesh.Route{Kind: mesh.RouteKind(kind), Metadata: mesh.Metadata{Namespace: "mine", Name: "own"}}
		route.Spec.ParentRefs = []mesh.ParentRef{{Group: &group, Kind: "Service", Name: "cart", Port: port, SectionName: name}}
		verdict := judgeTwice(t, newEngine(t, nil), &oneService{service: cart}, route, written(t, route))
		attached, _ := cart.Attach(route.Kind, &route.Spec.ParentRefs[0], nil)
		if denials := with(verdict, validate.Deny); len(denials) > 1 || (len(denials) == 0) != (len(attached) > 0) {
			t.Errorf("%d ports are selected, and the denials are %q", len(attached), told(verdict))
		}
	})
}

// oneService is a world in which there is one Service, and everything is granted.
type oneService struct {
	fixture.Unknowing
	service *mesh.Service
}

// Do implements mesh.Reader.
func (w *oneService) Do(read mesh.Read) mesh.Answer {
	switch read.Kind {
	case mesh.ReadNamespace:
		return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: map[string]string{mesh.GrantLabel: "all"}}}
	case mesh.ReadService:
		w.service.Key = read.Service
		return mesh.Answer{Service: w.service}
	case mesh.ReadRoutes:
		return mesh.Answer{}
	}
	return w.Unknowing.Do(read)
}

// FuzzIgnoreAnnotation: no text in the annotation opens what denies, and every
// name in it either silences a rule or is told to be unknown.
func FuzzIgnoreAnnotation(f *testing.F) {
	for _, rule := range rules.Catalog() {
		f.Add(rule.ID)
	}
	f.Add("")
	f.Add(" no-catch-all ,, hostnames-ignored , parent-headless,\x00,*")
	world := newWorld(f, cluster)
	const spec = `, hostnames: [a.example], rules: [{matches: [{method: GET}], backendRefs: [{name: gone, port: 80, weight: 0}]}]`
	f.Fuzz(func(t *testing.T, ignore string) {
		route := newRoute(t, mesh.HTTPRoute, "shop", on(service("headless"), service("cart"))+spec)
		plain := judgeTwice(t, newEngine(t, nil), world, route, written(t, route))
		route.Metadata.Annotations.Ignore = ignore
		verdict := judgeTwice(t, newEngine(t, nil), world, route, written(t, route))
		if diff := cmp.Diff(with(plain, validate.Deny), with(verdict, validate.Deny), cmp.AllowUnexported(validate.Finding{})); diff != "" {
			t.Errorf("denials (-without +with the annotation):\n%s", diff)
		}
		if len(plain.Findings) != len(verdict.Findings) {
			t.Errorf("%d findings became %d", len(plain.Findings), len(verdict.Findings))
		}
		names := map[string]bool{}
		for name := range strings.SplitSeq(ignore, ",") {
			names[strings.TrimSpace(name)] = true
		}
		for _, f := range verdict.Findings {
			if want := names[f.Rule] && f.Action != validate.Deny; (f.Effect == validate.Off) != want {
				t.Errorf("%s leads to %s, silenced = %v", f.Rule, f.Effect, want)
			}
		}
		denies := func(rule *validate.Rule) bool {
			return rule.Default == validate.Deny && (!rule.HasWarnings || slices.ContainsFunc(verdict.Findings, func(f validate.Finding) bool { return f.Rule == rule.ID && f.Action == validate.Deny }))
		}
		for i := range verdict.UnknownIgnores {
			name := verdict.UnknownIgnores[i].Reference.Detail
			if rule := rules.Find(name); !names[name] || rule != nil && !rule.OfServices && !denies(rule) {
				t.Errorf("%q is told to be unknown", name)
			}
			delete(names, name)
		}
		for name := range names {
			if rule := rules.Find(name); name != "" && (rule == nil || rule.OfServices || denies(rule)) {
				t.Errorf("%q is not told to be unknown", name)
			}
		}
	})
}
