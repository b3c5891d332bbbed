package rollout

import (
	"cmp"
	"encoding/json"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// IsRollout reports whether the object is a Rollout of Argo Rollouts.
func IsRollout(key manifest.Key) bool { return key.Group == "argoproj.io" && key.Kind == "Rollout" }

// Owned is a route whose weights a Rollout sets.
type Owned struct {
	Route manifest.Key
	// Stable and Canary are the backends, Services in the namespace of the Rollout.
	Stable, Canary string
}

// named is a route in the settings of the plugin.
type named struct {
	Name string `json:"name"`
}

// Rollout returns the routes whose weights a Rollout sets, by its plugin for the Gateway API. The problem says why
// they are not known.
func Rollout(o *manifest.Object) (owned []Owned, problem string) {
	var r struct {
		Spec struct {
			Strategy struct {
				Canary *struct {
					Stable  string `json:"stableService"`
					Canary  string `json:"canaryService"`
					Routing struct {
						Plugins struct {
							GatewayAPI *struct {
								HTTPRoute         string          `json:"httpRoute"`
								GRPCRoute         string          `json:"grpcRoute"`
								TCPRoute          string          `json:"tcpRoute"`
								TLSRoute          string          `json:"tlsRoute"`
								Namespace         string          `json:"namespace"`
								HTTPRoutes        []named         `json:"httpRoutes"`
								GRPCRoutes        []named         `json:"grpcRoutes"`
								TCPRoutes         []named         `json:"tcpRoutes"`
								TLSRoutes         []named         `json:"tlsRoutes"`
								HTTPRouteSelector json.RawMessage `json:"httpRouteSelector"`
								GRPCRouteSelector json.RawMessage `json:"grpcRouteSelector"`
								TCPRouteSelector  json.RawMessage `json:"tcpRouteSelector"`
								TLSRouteSelector  json.RawMessage `json:"tlsRouteSelector"`
							} `json:"argoproj-labs/gatewayAPI"`
						} `json:"plugins"`
					} `json:"trafficRouting"`
				} `json:"canary"`
			} `json:"strategy"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(o.JSON, &r); err != nil {
		return nil, "it cannot be read: " + err.Error()
	}
	canary := r.Spec.Strategy.Canary
	if canary == nil || canary.Routing.Plugins.GatewayAPI == nil {
		return nil, ""
	}
	p := canary.Routing.Plugins.GatewayAPI
	for _, kind := range []struct {
		kind mesh.RouteKind
		one  string
		all  []named
	}{
		{mesh.HTTPRoute, p.HTTPRoute, p.HTTPRoutes},
		{mesh.GRPCRoute, p.GRPCRoute, p.GRPCRoutes},
		{mesh.TCPRoute, p.TCPRoute, p.TCPRoutes},
		{mesh.TLSRoute, p.TLSRoute, p.TLSRoutes},
	} {
		for _, route := range append([]named{{kind.one}}, kind.all...) {
			if route.Name != "" {
				key := manifest.Key{Group: mesh.GatewayGroup, Kind: string(kind.kind), Namespace: cmp.Or(p.Namespace, o.Key.Namespace), Name: route.Name}
				owned = append(owned, Owned{key, canary.Stable, canary.Canary})
			}
		}
	}
	if given(p.HTTPRouteSelector) || given(p.GRPCRouteSelector) || given(p.TCPRouteSelector) || given(p.TLSRouteSelector) {
		return owned, "routes that it selects by labels are taken as they are written"
	}
	return owned, ""
}

// Rest returns the route with the weights that the plugin sets while no new version is rolled out: 100 for the stable
// Service, and 0 for the canary, in each rule that has both.
func (w *Owned) Rest(route []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(route, &object); err != nil {
		return nil, err
	}
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		of, _ := rule.(map[string]any)
		refs, _ := of["backendRefs"].([]any)
		var stable, canary []map[string]any
		for _, ref := range refs {
			backend, _ := ref.(map[string]any)
			switch backend["name"] {
			case w.Stable:
				stable = append(stable, backend)
			case w.Canary:
				canary = append(canary, backend)
			}
		}
		if len(stable) != 1 || len(canary) != 1 {
			continue
		}
		stable[0]["weight"], canary[0]["weight"] = 100, 0
	}
	return json.Marshal(object)
}
