package mesh_test

import (
	"errors"
	"fmt"
	"testing"

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
	}{
		"every Service":            {from, to, service, true},
		"that Service":             {from, mesh.ReferenceGrantTo{Kind: "Service", Name: "smiley"}, service, true},
		"another Service":          {from, mesh.ReferenceGrantTo{Kind: "Service", Name: "frown"}, service, false},
		"another kind of route":    {mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "GRPCRoute", Namespace: "shop"}, to, service, false},
		"another namespace":        {mesh.ReferenceGrantFrom{Group: mesh.GatewayGroup, Kind: "HTTPRoute", Namespace: "lab"}, to, service, false},
		"another group":            {mesh.ReferenceGrantFrom{Kind: "HTTPRoute", Namespace: "shop"}, to, service, false},
		"Services are not imports": {from, to, serviceImport, false},
		"imports":                  {from, mesh.ReferenceGrantTo{Group: mesh.MulticlusterGroup, Kind: "ServiceImport"}, serviceImport, true},
		"imports of no group":      {from, mesh.ReferenceGrantTo{Kind: "ServiceImport"}, serviceImport, false},
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
		})
	}
	if (&mesh.ReferenceGrant{}).Permits(mesh.HTTPRoute, "shop", service) {
		t.Error("an empty grant permits something")
	}
}
