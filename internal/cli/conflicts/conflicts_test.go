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
	set := manifest.NewSet(manifest.Options{Complete: true})
	read, errs := manifest.Read("cluster.yaml", []byte(objects), "default")
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, object := range read {
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
	if route := producer.Routes[0]; !producer.Conflict || producer.Winner != "" || producer.Why != why || route.State != validate.Loses || route.Reason != "the port belongs to GRPCRoute web/visitor" {
		t.Errorf("producer: %+v", producer)
	}
	if consumer.Winner != mesh.GRPCRoute || consumer.Conflict || len(consumer.Routes) != 1 {
		t.Errorf("consumer: %+v", consumer)
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
