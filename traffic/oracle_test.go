package traffic

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/conformance"
	"github.com/gammaguard/gammaguard/validate"
)

// TestConformanceExpectations puts the requests of the Gateway API's conformance
// tests to the engine and compares the answers with what the tests expect.
func TestConformanceExpectations(t *testing.T) {
	module := conformance.Dir(t)
	constants := suiteConstants(t, module)
	var all []expectation
	for _, pattern := range []string{"mesh/*.go", "httproute-*.go", "grpcroute-*.go"} {
		all = append(all, expectations(t, module, pattern, constants)...)
	}
	agreed := map[bool]int{} // by whether it is a mesh test's
	stale := maps.Clone(outOfReach)
	for _, e := range all {
		test, _, _ := strings.Cut(e.name, "#")
		key := cmp.Or(map[bool]string{true: e.name}[outOfReach[e.name] != ""], test)
		if outOfReach[key] != "" {
			if e.dynamic != "" || e.check(t, module) != nil {
				delete(stale, key)
			}
			continue
		}
		if t.Run(e.name, func(t *testing.T) {
			if e.dynamic != "" {
				t.Fatal(e.dynamic)
			}
			if err := e.check(t, module); err != nil {
				t.Error(err)
			}
		}) {
			agreed[e.mesh]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stale)) {
		t.Errorf("outOfReach: %s: nothing there is out of reach", name)
	}
	t.Logf("%d expectations: %d of mesh tests and %d of HTTPRoute and GRPCRoute tests agree", len(all), agreed[true], agreed[false])
	if agreed[true] < 60 || agreed[false] < 138 {
		t.Errorf("want 60 of mesh tests and 138 of HTTPRoute and GRPCRoute tests to agree at least")
	}
}

// outOfReach are the expectations that cannot be decided from manifests, by test or
// by expectation, and why.
var outOfReach = map[string]string{
	"mesh/mesh-frontend#1":                                 "it goes to the IP of a Pod",
	"httproute-backend-protocol-h2c":                       "it looks at the protocol towards the backend",
	"httproute-cors#4":                                     "a CORS filter makes the headers of the response as the request asks",
	"httproute-cors#5":                                     "a CORS filter makes the headers of the response as the request asks",
	"httproute-cors#7":                                     "a CORS filter makes the headers of the response as the request asks",
	"httproute-hostname-intersection":                      "hostnames of Gateway listeners, which Services have none of",
	"httproute-listener-hostname-matching":                 "hostnames of Gateway listeners",
	"grpcroute-listener-hostname-matching":                 "hostnames of Gateway listeners",
	"httproute-listener-port-matching#4":                   "hostnames of Gateway listeners",
	"httproute-https-listener-detect-misdirected-requests": "its hosts stand in a table of its own; TLS listeners of Gateways",
	"httproute-https-listener":                             "its hosts stand in a table of its own; TLS listeners of Gateways",
	"httproute-retry":                                      "its requests stand in a table of its own; the backend fails on demand",
	"httproute-service-types":                              "its paths stand in a list of its own; endpoints are made while it runs",
	"httproute-timeout-backend-request#1":                  "the backend answers late on demand",
	"httproute-timeout-request#1":                          "the backend answers late on demand",
}

// misprinted are the expectations whose path is not that of their request, and why
// the suite passes all the same.
var misprinted = map[string]string{
	"mesh/httproute-named-rule#1": "the suite's mesh client does not compare paths",
}

// check decides the request and compares; an error says what differs.
func (e *expectation) check(t *testing.T, module string) error {
	w := newWorld()
	base := "base/manifests.yaml"
	if e.mesh {
		base = "mesh/manifests.yaml"
	}
	w.read(t, manifest(t, module, base))
	var text strings.Builder
	for _, path := range e.manifests {
		text.WriteString("\n---\n" + manifest(t, module, path))
	}
	routes := w.read(t, text.String())
	if e.ungranted {
		w.grants = nil
	}
	request, err := e.request()
	if err != nil {
		return err
	}
	options := Options{}
	if !e.mesh {
		request.Service = mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "gateway-conformance-infra", Name: e.gateway}
		northSouth(t, w, &routes, &request, manifest(t, module, base)+text.String())
		options = by(t, validate.Policy{Actions: map[string]validate.Action{"backend-not-permitted": validate.Warn}})
	}
	trace, err := tableOf(w, routes.stored(t), options).Trace(request)
	if err != nil {
		return err
	}
	if differences := e.compare(trace); len(differences) > 0 {
		return fmt.Errorf("%s\n%s", strings.Join(differences, "\n"), trace)
	}
	return nil
}

func manifest(t *testing.T, module, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(module, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(data), "---\n")
}

// request returns the expectation's request. In a mesh test its Host names the
// Service.
func (e *expectation) request() (Request, error) {
	r := Request{From: e.client}
	if e.fields["EchoRequest"] != nil || e.fields["EchoTwoRequest"] != nil || e.fields["EchoThreeRequest"] != nil {
		method := map[bool]string{true: "Echo"}[e.fields["EchoRequest"] != nil]
		method = cmp.Or(method, map[bool]string{true: "EchoTwo"}[e.fields["EchoTwoRequest"] != nil], "EchoThree")
		if err := r.SetGRPC("gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/" + method); err != nil {
			return r, err
		}
		metadata := section(e.fields, "RequestMetadata")
		r.Host, _ = metadata["Authority"].(string)
		err := addHeaders(&r, section(metadata, "Metadata"))
		return r, err
	}
	in := section(e.fields, "Request")
	r.Method, _ = in["Method"].(string)
	host, _ := in["Host"].(string)
	if path, _ := in["Path"].(string); path != "" {
		if err := r.SetPath(path); err != nil {
			return r, err
		}
	}
	if in["Protocol"] == "grpc" {
		if err := r.SetGRPC("proto.EchoTestService/Echo"); err != nil {
			return r, err
		}
	}
	r.Host, r.Port = host, 80
	name, port, hasPort := strings.Cut(cmp.Or(host, "echo"), ":")
	if number, err := strconv.Atoi(port); err == nil && hasPort {
		r.Port = int32(number)
	}
	service, namespace, _ := strings.Cut(name, ".")
	r.Service = mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: cmp.Or(namespace, "gateway-conformance-mesh"), Name: service}
	err := addHeaders(&r, section(in, "Headers"))
	return r, err
}

func addHeaders(r *Request, headers map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if err := r.AddHeader(name + ": " + headers[name].(string)); err != nil {
			return err
		}
	}
	return nil
}

func section(fields map[string]any, name string) map[string]any {
	nested, _ := fields[name].(map[string]any)
	return nested
}

// northSouth makes Services of Gateways, for this test alone: their listeners are
// ports, and all clients are those of the routes' namespace. Of the routes only
// those stay whose hostname fits the request best.
func northSouth(t *testing.T, w *world, routes *apiRoutes, r *Request, manifests string) {
	for _, text := range strings.Split(manifests, "\n---\n") {
		var meta metav1.TypeMeta
		if decode(t, text, &meta); meta.Kind != "Gateway" {
			continue
		}
		gateway := decode(t, text, &gatewayv1.Gateway{})
		service := &mesh.Service{Key: mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: gateway.Namespace, Name: gateway.Name}, Type: mesh.ClusterIP}
		for _, listener := range gateway.Spec.Listeners {
			service.Ports = append(service.Ports, mesh.Port{Name: string(listener.Name), Number: listener.Port, Protocol: mesh.TCP})
		}
		w.services[service.Key] = service
	}
	if gateway := w.services[r.Service]; gateway != nil && !slices.ContainsFunc(gateway.Ports, func(p mesh.Port) bool { return p.Number == r.Port }) {
		r.Port = gateway.Ports[0].Number
	}
	host, _, _ := strings.Cut(r.Host, ":")
	routes.HTTP = bestHost(routes.HTTP, host, func(in *gatewayv1.HTTPRoute) []gatewayv1.Hostname {
		r.From = in.Namespace
		asServices(in.Spec.ParentRefs)
		return in.Spec.Hostnames
	})
	routes.GRPC = bestHost(routes.GRPC, host, func(in *gatewayv1.GRPCRoute) []gatewayv1.Hostname {
		r.From = in.Namespace
		asServices(in.Spec.ParentRefs)
		return in.Spec.Hostnames
	})
}

func asServices(parents []gatewayv1.ParentReference) {
	group, kind := gatewayv1.Group(""), gatewayv1.Kind(mesh.ServiceKind)
	for i := range parents {
		parents[i].Group, parents[i].Kind = &group, &kind
	}
}

// bestHost returns the routes whose hostnames fit the host best.
func bestHost[R any](routes []R, host string, hostnames func(R) []gatewayv1.Hostname) []R {
	best, kept := -1, []R{}
	for _, route := range routes {
		fit := -1
		tls := mesh.Route{Kind: mesh.TLSRoute}
		for _, hostname := range hostnames(route) {
			tls.Spec.Hostnames = append(tls.Spec.Hostnames, string(hostname))
		}
		for _, conditions := range tls.Conditions(0, mergingMesh()) {
			if m := newMatch(&tls, 0, conditions, nil); m.holds(&Request{ServerName: host}) {
				fit = max(fit, 1000*m.rank[mesh.ByExactName]+m.rank[mesh.ByNameLength])
			}
		}
		switch {
		case fit > best:
			best, kept = fit, []R{route}
		case fit == best && fit >= 0:
			kept = append(kept, route)
		}
	}
	return kept
}
