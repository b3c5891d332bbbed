package mesh_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestErrNotServed(t *testing.T) {
	wrapped := fmt.Errorf("asking: %w", mesh.ErrNotServed)
	if !errors.Is(wrapped, mesh.ErrNotServed) || !errors.Is(wrapped, mesh.ErrNotFound) || errors.Is(wrapped, mesh.ErrUnknown) {
		t.Error("what is not served is not found, and not unknown")
	}
	if errors.Is(mesh.ErrNotFound, mesh.ErrNotServed) {
		t.Error("what is not found may well be served")
	}
}

func TestReferenceGrantPermits(t *testing.T) {
	service := mesh.ServiceKey{Kind: "Service", Namespace: "faces", Name: "smiley"}
	serviceImport := mesh.ServiceKey{Kind: "ServiceImport", Namespace: "faces", Name: "smiley"}
	from := mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: "shop"}
	to := mesh.ReferenceGrantTo{Kind: "Service"}
	for name, test := range map[string]struct {
		from mesh.ReferenceGrantFrom
		to   mesh.ReferenceGrantTo
		key  mesh.ServiceKey
		want bool
		// misfit is the only field that is not as it must be.
		misfit *mesh.Misfit
	}{
		"every Service":            {from, to, service, true, nil},
		"that Service":             {from, mesh.ReferenceGrantTo{Kind: "Service", Name: "smiley"}, service, true, nil},
		"another Service":          {from, mesh.ReferenceGrantTo{Kind: "Service", Name: "frown"}, service, false, &mesh.Misfit{Field: "to[1].name", Want: "smiley"}},
		"another kind of route":    {mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "GRPCRoute", Namespace: "shop"}, to, service, false, &mesh.Misfit{Field: "from[1].kind", Want: "HTTPRoute"}},
		"another namespace":        {mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: "lab"}, to, service, false, nil},
		"a similar namespace":      {mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: "shopp"}, to, service, false, nil},
		"another group":            {mesh.ReferenceGrantFrom{Kind: "HTTPRoute", Namespace: "shop"}, to, service, false, &mesh.Misfit{Field: "from[1].group", Want: mesh.GatewayGroup}},
		"Services are not imports": {from, to, serviceImport, false, nil},
		"imports":                  {from, mesh.ReferenceGrantTo{Group: mesh.MulticlusterGroup, Kind: "ServiceImport"}, serviceImport, true, nil},
		"imports of no group":      {from, mesh.ReferenceGrantTo{Kind: "ServiceImport"}, serviceImport, false, &mesh.Misfit{Field: "to[1].group", Want: mesh.MulticlusterGroup}},
	} {
		t.Run(name, func(t *testing.T) {
			other := mesh.ReferenceGrantFrom{Group: "other.example", Kind: "Other", Namespace: "shop"}
			grant := mesh.ReferenceGrant{
				From: []mesh.ReferenceGrantFrom{other, test.from},
				To:   []mesh.ReferenceGrantTo{{Kind: "Secret"}, test.to},
			}
			if got := grant.Permits(mesh.HTTPRoute, "shop", test.key); got != test.want {
				t.Errorf("got %v", got)
			}
			if diff := cmp.Diff(test.misfit, grant.Misfit(mesh.HTTPRoute, "shop", test.key)); diff != "" {
				t.Errorf("misfit (-want +got):\n%s", diff)
			}
		})
	}
	if (&mesh.ReferenceGrant{}).Permits(mesh.HTTPRoute, "shop", service) {
		t.Error("an empty grant permits something")
	}
}
