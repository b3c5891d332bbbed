package conflicts_test

import (
	"bytes"
	"context"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/conflicts"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// cluster is a cluster made of manifests.
type cluster struct {
	*manifest.Set
	refused mesh.ServiceKey
	// hidden is a namespace that may not be read.
	hidden string
}

func (c *cluster) Routes(...string) ([]*manifest.Object, error) { return c.Set.Routes(), nil }

// Do implements mesh.Reader.
func (c *cluster) Do(read mesh.Read) mesh.Answer {
	if read.Kind == mesh.ReadService && read.Service == c.refused || read.Kind == mesh.ReadNamespace && read.Namespace == c.hidden {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return c.Set.Do(read)
}

//go:embed testdata/cluster.yaml
var objects string

func load(t *testing.T) *cluster {
	t.Helper()
	return read(t, objects)
}

// read returns the cluster of the manifests.
func read(t *testing.T, objects string) *cluster {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	all, errs := manifest.Read("cluster.yaml", []byte(objects), "default")
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, object := range all {
		if err := set.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{Set: set}
}

func TestTable(t *testing.T) {
	for _, test := range []struct {
		name, namespace string
		wide            bool
		want            string
	}{{
		name: "all namespaces",
		want: `NAMESPACE   SERVICE             PORT            SCOPE                 WINNER                            LOSERS                 WHY                                      OTHERS
shop        cart                80/TCP (http)   producer              HTTPRoute shop/first and 1 more   TCPRoute shop/oldest   HTTPRoute is more specific than TCPRoute   -
shop        cart                80/UDP (dns)    producer              UDPRoute shop/names               -                      the only route   -
shop        cart                90/TCP          producer              TCPRoute shop/oldest              -                      the only route   -
shop        cart                90/TCP          consumer of web       GRPCRoute web/visitor             -                      consumer routes replace producer routes   TCPRoute shop/oldest (replaced)
web         serviceimport/far   443/TCP         producer              GRPCRoute web/visitor             -                      the only route   -
web         page                8080/TCP        producer              HTTPRoute web/gone                -                      the only route   -
web         page                8080/TCP        consumer of nowhere   -                                 -                      no consumer route applies, so producer routes do   HTTPRoute nowhere/stranger (no-grant)
`,
	}, {
		name: "one namespace, wide", namespace: "web", wide: true,
		want: `SERVICE             PORT       SCOPE                 WINNER                  LOSERS   WHY                   OTHERS
serviceimport/far   443/TCP    producer              GRPCRoute web/visitor   -        the only route        -
page                8080/TCP   producer              HTTPRoute web/gone      -        the only route        -
page                8080/TCP   consumer of nowhere   -                       -        no consumer route applies, so producer routes do      HTTPRoute nowhere/stranger (no-grant: namespace nowhere lacks the consumer grant for HTTPRoute)
`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			list, err := conflicts.Find(load(t), &validate.Policy{}, test.namespace)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := list.Table(&got, test.namespace == "", test.wide); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cells(test.want), cells(got.String())); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

// cells returns the lines with one separator between their cells.
func cells(table string) []string {
	lines := strings.Split(table, "\n")
	for i, line := range lines {
		lines[i] = separator.ReplaceAllString(line, "|")
	}
	return lines
}

var separator = regexp.MustCompile(` {2,}`)

// TestKinds: a kind that the mesh does not implement takes no part.
func TestKinds(t *testing.T) {
	list, err := conflicts.Find(load(t), &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.TCPRoute}}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	got := list.Items[0]
	if got.Conflict || got.Winner != mesh.TCPRoute || got.Routes[1].State != validate.Unsupported || !strings.Contains(got.Routes[1].Reason, "the mesh does not implement HTTPRoute") {
		t.Errorf("%+v", got)
	}
}

// TestAcrossScopes: a mesh that compares scopes has a consumer route take the port of a producer route.
func TestAcrossScopes(t *testing.T) {
	list, err := conflicts.Find(load(t), &validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list.Items, func(b conflicts.Binding) bool { return b.Port == 90 })
	producer, consumer := list.Items[at], list.Items[at+1]
	const why = "the mesh compares scopes, and the port belongs to a route of another one"
	// The TCPRoute names another port by sectionName alone, which Linkerd ignores.
	if route := producer.Routes[1]; len(producer.Routes) != 2 || !producer.Conflict || producer.Winner != "" || producer.Why != why || route.State != validate.Loses || route.Reason != "the port belongs to GRPCRoute web/visitor" {
		t.Errorf("producer: %+v", producer)
	}
	if consumer.Winner != mesh.GRPCRoute || consumer.Conflict || len(consumer.Routes) != 1 {
		t.Errorf("consumer: %+v", consumer)
	}
}

// TestPorts: what a mesh makes of a route with port 80 and one of another kind, on port 90 or without port.
func TestPorts(t *testing.T) {
	const (
		web  = "HTTPRoute shop/web"
		rpc  = "GRPCRoute shop/rpc"
		both = web + "|" + rpc
	)
	for _, test := range []struct {
		name                          string
		mesh                          mesh.ProfileName
		created, port, want80, want90 string
	}{
		{
			name: "all ports share their routes", mesh: mesh.Cilium, port: ", port: 90",
			want80: web + ", " + rpc + "|-|the mesh merges these kinds|-", want90: web + ", " + rpc + "|-|the mesh merges these kinds|-",
		},
		{
			name: "one does not select the port of the other, which shares its routes", mesh: mesh.Cilium,
			want80: web + ", " + rpc + "|-|the mesh merges these kinds|-", want90: web + ", " + rpc + "|-|the mesh merges these kinds|-",
		},
		{
			name: "each port has its own routes", mesh: mesh.Istio, port: ", port: 90",
			want80: web + "|-|the only route|-", want90: rpc + "|-|the only route|-",
		},
		{
			name: "with and without port", mesh: mesh.Istio, created: `, creationTimestamp: "2026-01-02T00:00:00Z"`,
			want80: both + "|routes with and without port do not merge, and the oldest decides|-", want90: rpc + "|-|the only route|-",
		},
		{
			name: "with and without port, of unknown ages", mesh: mesh.Istio,
			want80: both + "|routes with and without port do not merge, and the oldest decides, which is not known|-", want90: rpc + "|-|the only route|-",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := conflicts.Find(read(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{name: http, port: 80}, {name: grpc, port: 90, appProtocol: grpc}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop`+strings.Replace(test.created, "02T", "01T", 1)+`}
spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: rpc, namespace: shop`+test.created+`}
spec: {parentRefs: [{group: "", kind: Service, name: cart`+test.port+`}]}
`), &validate.Policy{Mesh: mesh.FindProfile(test.mesh)}, "shop")
			if err != nil {
				t.Fatal(err)
			}
			var table bytes.Buffer
			if err := list.Table(&table, false, true); err != nil {
				t.Fatal(err)
			}
			want := []string{"cart|80/TCP (http)|producer|" + test.want80, "cart|90/TCP (grpc)|producer|" + test.want90, ""}
			if diff := cmp.Diff(want, cells(table.String())[1:]); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

// TestRefused: a Service that may not be read is left out, and the others are there.
func TestRefused(t *testing.T) {
	c := load(t)
	whole, err := conflicts.Find(c, &validate.Policy{}, "")
	if err != nil {
		t.Fatal(err)
	}
	c.refused = mesh.ServiceKey{Kind: "Service", Namespace: "web", Name: "page"}
	list, err := conflicts.Find(c, &validate.Policy{}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(whole.Items, func(b conflicts.Binding) bool { return b.Service.Name == "page" })
	if diff := cmp.Diff(want, list.Items); diff != "" || len(want) != 5 {
		t.Error("(-want +got)\n" + diff)
	}
}

// TestUnknown: whether a route applies is unknown where the namespace with its grant may not be read.
func TestUnknown(t *testing.T) {
	c := load(t)
	c.hidden = "web"
	list, err := conflicts.Find(c, &validate.Policy{}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := list.Table(&table, false, true); err != nil {
		t.Fatal(err)
	}
	const want = "cart|90/TCP|consumer of web|-|-|it depends on objects that cannot be read|GRPCRoute web/visitor (unknown: it depends on objects that cannot be read), TCPRoute shop/oldest"
	if got := strings.Join(cells(table.String()), "\n"); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
}

func (*cluster) Definition(context.Context, string) ([]byte, error) { return nil, mesh.ErrUnknown }

func (*cluster) Object(context.Context, manifest.Key) ([]byte, error) { return nil, mesh.ErrUnknown }

func (*cluster) Unlisted(string) []mesh.RouteKind { return nil }
