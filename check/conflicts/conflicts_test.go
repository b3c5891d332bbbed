package conflicts_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/check/conflicts"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/validate"
)

// cluster is a cluster made of manifests.
type cluster struct {
	*manifest.Set
	refused mesh.ServiceKey
}

func (c *cluster) Routes(context.Context) ([]*manifest.Object, error) { return c.Set.Routes(), nil }

func (c *cluster) Service(key mesh.ServiceKey) (*mesh.Service, error) {
	if key == c.refused {
		return nil, mesh.ErrUnknown
	}
	return c.Set.Service(key)
}

const objects = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{name: http, port: 80}, {name: dns, port: 80, protocol: UDP}, {port: 90}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: page, namespace: web}, spec: {ports: [{port: 8080}]}}
---
{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {name: far, namespace: web}, spec: {type: ClusterSetIP, ports: [{port: 443}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: oldest, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: cart}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: second, namespace: shop, creationTimestamp: "2026-01-03T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: first, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: cart, sectionName: http}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: names, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: cart}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: visitor, namespace: web, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 90}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: far}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: stranger, namespace: nowhere, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: page, namespace: web}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: gone, namespace: web, creationTimestamp: "2026-01-02T00:00:00Z", deletionTimestamp: "2026-01-09T00:00:00Z"}
spec: {parentRefs: [{group: "", kind: Service, name: page}, {group: "", kind: Service, name: missing}, {name: gateway}]}
`

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
		want: `NAMESPACE   SERVICE             PORT            SCOPE                 WINNER                            LOSERS                 WHY
shop        cart                80/TCP (http)   producer              HTTPRoute shop/first and 1 more   TCPRoute shop/oldest   HTTPRoute is more specific than TCPRoute
shop        cart                80/UDP (dns)    producer              UDPRoute shop/names               -                      the only route
shop        cart                90/TCP          producer              TCPRoute shop/oldest              -                      the only route
shop        cart                90/TCP          consumer of web       GRPCRoute web/visitor             -                      the only route
web         serviceimport/far   443/TCP         producer              GRPCRoute web/visitor             -                      the only route
web         page                8080/TCP        producer              -                                 -                      no route takes part
web         page                8080/TCP        consumer of nowhere   -                                 -                      no route takes part
`,
	}, {
		name: "one namespace, wide", namespace: "web", wide: true,
		want: `SERVICE             PORT       SCOPE                 WINNER                  LOSERS   WHY                   NOT ELIGIBLE
serviceimport/far   443/TCP    producer              GRPCRoute web/visitor   -        the only route        -
page                8080/TCP   producer              -                       -        no route takes part   HTTPRoute web/gone (is being deleted)
page                8080/TCP   consumer of nowhere   -                       -        no route takes part   HTTPRoute nowhere/stranger (lacks the grant, or is refused)
`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			list, err := conflicts.Find(t.Context(), load(t), &validate.Policy{}, test.namespace)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := list.Table(&got, test.namespace == "", test.wide); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

// TestKinds: a kind that the mesh does not implement takes no part.
func TestKinds(t *testing.T) {
	list, err := conflicts.Find(t.Context(), load(t), &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.TCPRoute}}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	got := list.Items[0]
	if got.Conflict || got.Winner != mesh.TCPRoute || got.Routes[1].Reason != "the mesh does not implement its kind" {
		t.Errorf("%+v", got)
	}
}

// TestRefused: what may not be read is an error, not an empty table.
func TestRefused(t *testing.T) {
	c := load(t)
	c.refused = mesh.ServiceKey{Kind: "Service", Namespace: "web", Name: "page"}
	_, err := conflicts.Find(t.Context(), c, &validate.Policy{}, "")
	if err == nil || errors.Is(err, mesh.ErrUnknown) {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Service web/page: may not be read from the cluster", err.Error()); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}
