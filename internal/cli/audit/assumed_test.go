package audit_test

import (
	"context"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// cluster is a cluster made of manifests.
type cluster struct{ *manifest.Set }

func (cluster) Definition(context.Context, string) ([]byte, error) { return nil, mesh.ErrNotFound }

func (cluster) Object(context.Context, manifest.Key) ([]byte, error) { return nil, mesh.ErrNotFound }

func (c cluster) Routes(...string) ([]*manifest.Object, error) { return c.Set.Routes(), nil }

// TestAsMode: in another mode, the same is read of the cluster, parents of other
// implementations included.
func TestAsMode(t *testing.T) {
	c := cluster{manifest.NewSet(manifest.Options{Complete: true, Serves: func(string, string) bool { return false }})}
	objects, errs := manifest.Read("cluster.yaml", []byte(`
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer, gammaguard.dev/mode: warn}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: shop}, spec: {parentRefs: [
  {group: "", kind: Service, name: cart}, {group: mesh.example, kind: Mesh, name: m}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`), "default")
	for _, object := range objects {
		errs = append(errs, c.Put(object))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []mesh.Mode{"", mesh.Audit, mesh.Enforce} {
		report, err := audit.Run(c, c.Set.Routes(), &audit.Options{Config: config.Default(), AsMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Routes) != 1 || report.Routes[0].Findings[0].Field != "spec.parentRefs[1].kind" {
			t.Errorf("as mode %q: %+v", mode, report.Routes)
		}
	}
}

func (cluster) Unlisted(string) []mesh.RouteKind { return nil }
