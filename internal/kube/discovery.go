package kube

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// served says which resources the API server serves, and in which version they
// are read.
type served map[resource]string

// discover asks which resources are served. Kubernetes' own always are.
func (c *client) discover(ctx context.Context) (served, error) {
	found := served{serviceResource: "v1", namespaceResource: "v1", endpointSlices: "v1"}
	wanted := []resource{referenceGrants}
	for _, kind := range mesh.RouteKinds() {
		wanted = append(wanted, routeResource(kind))
	}
	if err := c.discoverGroup(ctx, mesh.GatewayGroup, wanted, found); err != nil {
		return nil, err
	}
	if err := c.discoverGroup(ctx, mesh.MulticlusterGroup, []resource{serviceImports}, found); err != nil {
		return nil, err
	}
	return found, nil
}

// discoverGroup adds to found the best version of each wanted resource of the
// group that is served at all.
func (c *client) discoverGroup(ctx context.Context, group string, wanted []resource, found served) error {
	var offered metav1.APIGroup
	if ok, err := c.document(ctx, &offered, "apis", group); !ok || err != nil {
		return err
	}
	for _, version := range versions(group) {
		if !slices.ContainsFunc(offered.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == version }) {
			continue
		}
		var resources metav1.APIResourceList
		if _, err := c.document(ctx, &resources, "apis", group, version); err != nil {
			return err
		}
		for _, r := range wanted {
			_, has := found[r]
			if !has && slices.ContainsFunc(resources.APIResources, func(a metav1.APIResource) bool { return a.Name == r.name }) {
				found[r] = version
			}
		}
	}
	return nil
}

// document gets a document of discovery. It is not ok where its path is not
// served.
func (c *client) document(ctx context.Context, into any, segments ...string) (ok bool, err error) {
	body, err := c.rest.Get().AbsPath(segments...).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, mesh.Decode(body, into)
}
