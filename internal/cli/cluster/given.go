package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/gammaguard/gammaguard/mesh"
)

// given are the kinds of objects by which meshes give their proxies routes.
var given = map[mesh.ProfileName]schema.GroupKind{
	mesh.Cilium: {Group: "cilium.io", Kind: "CiliumEnvoyConfig"},
	mesh.Kuma:   {Group: "kuma.io", Kind: "MeshHTTPRoute"},
}

// maxGiven is how large the objects of the cluster by which a mesh gives its proxies routes may be, in bytes.
const maxGiven = 64 << 20

// Given returns the objects, in JSON, by which a mesh gives its proxies routes: that mesh, or, if the name is empty, the one
// whose objects the cluster serves.
func (c *Cluster) Given(ctx context.Context, name mesh.ProfileName) ([][]byte, error) {
	var all [][]byte
	served := false
	for _, of := range []mesh.ProfileName{mesh.Cilium, mesh.Kuma} {
		if name != "" && name != of {
			continue
		}
		mapping, err := c.mapper.RESTMapping(given[of])
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ask whether %s is served: %w", given[of].Kind, err)
		}
		served = true
		objects, err := c.listGiven(ctx, mapping.Resource)
		if err != nil {
			return nil, fmt.Errorf("list %ss of all namespaces: %w", given[of].Kind, err)
		}
		all = append(all, objects...)
	}
	switch {
	case !served:
		return nil, errors.New("the cluster serves no CiliumEnvoyConfigs and no MeshHTTPRoutes; specify a file with what the proxies were given")
	case len(all) == 0:
		return nil, errors.New("the cluster has no CiliumEnvoyConfigs and no MeshHTTPRoutes, so no proxy was given a route")
	}
	return all, nil
}

// listGiven returns all objects of a kind.
func (c *Cluster) listGiven(ctx context.Context, resource schema.GroupVersionResource) ([][]byte, error) {
	var all [][]byte
	size := 0
	lister := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.objects.Resource(resource).List(ctx, options)
	})
	err := lister.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		data, err := object.(*unstructured.Unstructured).MarshalJSON() //nolint:forcetypeassert // a dynamic client has no others
		if size += len(data); size > maxGiven {
			return fmt.Errorf("they are larger than %d MiB", maxGiven>>20)
		}
		all = append(all, data)
		return err
	})
	if apierrors.IsForbidden(err) {
		return nil, forbidden("you cannot read them")
	}
	return all, err
}
