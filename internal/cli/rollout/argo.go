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
	// By is the Rollout.
	By manifest.Key
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
				owned = append(owned, Owned{key, o.Key, canary.Stable, canary.Canary})
			}
		}
	}
	if given(p.HTTPRouteSelector) || given(p.GRPCRouteSelector) || given(p.TCPRouteSelector) || given(p.TLSRouteSelector) {
		return owned, "routes that it selects by labels are taken as they are written"
	}
	return owned, ""
}

// Rest returns the route with the weights that the plugin sets while no new version is rolled out: 100 for the stable
// Service, and 0 for the canary, in every rule. A route that lacks one of the two it leaves as it is.
func (w *Owned) Rest(route []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(route, &object); err != nil {
		return nil, err
	}
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	of := map[any][]map[string]any{}
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		refs, _ := rule["backendRefs"].([]any)
		for _, ref := range refs {
			if backend, _ := ref.(map[string]any); backend != nil {
				of[backend["name"]] = append(of[backend["name"]], backend)
			}
		}
	}
	if len(of[w.Stable]) == 0 || len(of[w.Canary]) == 0 {
		return route, nil
	}
	for name, weight := range map[string]int{w.Stable: 100, w.Canary: 0} {
		for _, backend := range of[name] {
			backend["weight"] = weight
		}
	}
	return json.Marshal(object)
}
