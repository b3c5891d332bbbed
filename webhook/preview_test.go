package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// wholeRoutes are a RouteReader of the routes in a set, that counts what it is asked.
type wholeRoutes struct {
	set   *manifest.Set
	reads int
	fail  error
}

func (w *wholeRoutes) RouteObject(_ context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error) {
	w.reads++
	if w.fail != nil {
		return nil, w.fail
	}
	object := w.set.Get(manifest.Key{Group: mesh.GatewayGroup, Kind: string(kind), Namespace: namespace, Name: name})
	if object == nil {
		return nil, mesh.ErrNotFound
	}
	return object.JSON, nil
}

// routeTo returns an HTTPRoute in shop on Service cart, whose rules, for these paths,
// have a backend.
func routeTo(name, backend string, paths ...string) string {
	text := fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s, namespace: shop, uid: u1}, spec: {parentRefs: [%s], rules: [`, name, onCart)
	for _, path := range paths {
		text += fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: %s}}], backendRefs: [{name: %s, port: 80}]},`, path, backend)
	}
	return text + "]}}"
}

// spare is another Service with endpoints.
const spare = `{apiVersion: v1, kind: Service, metadata: {name: spare, namespace: shop}, spec: {clusterIP: 10.0.0.9, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: spare, namespace: shop, labels: {kubernetes.io/service-name: spare}}, addressType: IPv4, endpoints: [{addresses: [10.1.0.9]}]}`

// manifests are documents of one stream.
func manifests(documents ...string) string { return strings.Join(documents, "\n---\n") }

func TestPreview(t *testing.T) {
	many := make([]string, previewRoutes+1)
	for i := range many {
		many[i] = routeTo(fmt.Sprintf("many-%d", i), "cart", fmt.Sprintf("/%d", i))
	}
	for _, test := range []struct {
		name   string
		stored []string
		ask    admission
		policy validate.Policy
		off    bool
		fail   error
		want   []string // the last warnings
		reads  int
	}{
		{
			name: "the first route",
			ask:  admission{object: routeTo("web", "spare", "/"), dryRun: true},
			want: []string{"service shop/cart port 80, producer, any: cart:80 100 % → spare:80 100 % (new HTTPRoute shop/web)"},
		},
		{name: "not a dry run", ask: admission{object: routeTo("web", "spare", "/")}},
		{name: "off", off: true, ask: admission{object: routeTo("web", "spare", "/"), dryRun: true}},
		{
			name: "an update, beside another route", stored: []string{routeTo("web", "cart", "/"), routeTo("api", "cart", "/api")},
			ask:   admission{operation: operationUpdate, object: routeTo("web", "spare", "/"), old: routeTo("web", "cart", "/"), dryRun: true},
			want:  []string{"service shop/cart port 80, producer, any /* (except /api*): cart:80 100 % → spare:80 100 %"},
			reads: 1,
		},
		{
			name: "more changes than lines", stored: []string{routeTo("web", "cart", "/a", "/b", "/c", "/d")},
			ask: admission{
				operation: operationUpdate, object: routeTo("web", "spare", "/a", "/b", "/c", "/d"),
				old: routeTo("web", "cart", "/a", "/b", "/c", "/d"), dryRun: true,
			},
			want: []string{
				"service shop/cart port 80, producer, any /a*: cart:80 100 % → spare:80 100 %",
				"service shop/cart port 80, producer, any /b*: cart:80 100 % → spare:80 100 %",
				"2 more changes; run gammaguard diff",
			},
		},
		{
			name: "nothing changes in the traffic", stored: []string{routeTo("web", "cart", "/")},
			ask: admission{operation: operationUpdate, object: routeTo("web", "cart", "/", "/more"), old: routeTo("web", "cart", "/"), dryRun: true},
		},
		{
			name: "denied",
			ask:  admission{object: routeOn(`{group: "", kind: Service, name: headless}, ` + onCart), dryRun: true},
		},
		{
			name: "no grant, which is not enforced", stored: many, policy: validate.Policy{Mode: mesh.Warn},
			ask: admission{object: strings.Replace(routeOn(`{group: "", kind: Service, name: cart, namespace: shop}`), "namespace: shop, uid", "namespace: nobody, uid", 1), dryRun: true},
		},
		{
			name: "no grant, and the spec stays", stored: many,
			ask: admission{
				operation: operationUpdate, dryRun: true,
				object: strings.Replace(routeTo("web", "cart", "/"), "namespace: shop, uid", "namespace: nobody, labels: {a: b}, uid", 1),
				old:    strings.Replace(routeTo("web", "cart", "/"), "namespace: shop, uid", "namespace: nobody, uid", 1),
			},
		},
		{
			name: "too many other routes", stored: many,
			ask:  admission{object: routeTo("web", "spare", "/"), dryRun: true},
			want: []string{"there are too many routes on the same Services; run gammaguard diff"},
		},
		{
			name: "a failure", stored: many[:1], fail: context.DeadlineExceeded,
			ask:   admission{object: routeTo("web", "spare", "/"), dryRun: true},
			want:  []string{"context deadline exceeded; run gammaguard diff"},
			reads: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := world(t, manifests(append([]string{cluster, spare}, test.stored...)...))
			engine, err := validate.New(rules.Catalog(), &test.policy)
			if err != nil {
				t.Fatal(err)
			}
			routes := &wholeRoutes{set: set, fail: test.fail}
			options := options(t, set)
			if !test.off {
				options.Preview = routes
			}
			var got []string
			for _, text := range ask(t, Validating(options, engine), test.ask).Warnings {
				if line, ok := strings.CutPrefix(text, "traffic preview: "); ok {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if routes.reads != test.reads {
				t.Errorf("%d reads, want %d", routes.reads, test.reads)
			}
		})
	}
}

// TestPreviewMatches: routes with more matches than can be compared in time are not.
func TestPreviewMatches(t *testing.T) {
	set := world(t, manifests(cluster, routeTo("other", "cart", "/other")))
	options := options(t, set)
	options.Preview = &wholeRoutes{set: set}
	p := &preview{Options: options, engine: newEngine(t, nil)}
	own := &mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "web", Matches: make([]mesh.MatchKey, previewMatches-1)}
	keys := []mesh.ServiceKey{{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}}
	if others, err := p.others(own, keys); err != nil || len(others) != 1 {
		t.Errorf("%d others, %v, want one", len(others), err)
	}
	own.Matches = make([]mesh.MatchKey, previewMatches)
	if _, err := p.others(own, keys); err == nil {
		t.Error("one match too many is compared")
	}
}

// TestPreviewBusy: while one preview is in progress, others are not worked out.
func TestPreviewBusy(t *testing.T) {
	set := world(t, cluster)
	options := options(t, set)
	routes := &wholeRoutes{set: set}
	options.Preview = routes
	p := &preview{Options: options, engine: newEngine(t, nil)}
	p.busy.Lock()
	got := p.warnings(t.Context(), &review{})
	if diff := cmp.Diff([]string{"traffic preview: another one is in progress; try again, or run gammaguard diff"}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
