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

// Weight is one that a route gives the canary of a Rollout, or else its stable Service, in a rule.
type Weight struct {
	Rule   int
	Canary bool
	Weight int32
}

// Weights returns the weights that the Rollout sets, as they are written in the route, in order: those of its two Services in every rule. There are
// none if the route lacks one of the two: the plugin then sets nothing.
func (w *Owned) Weights(route *mesh.Route) (weights []Weight) {
	stable, canary := false, false
	for i := range route.Spec.Rules {
		for _, ref := range route.Spec.Rules[i].BackendRefs {
			if ref.Name != w.Stable && ref.Name != w.Canary {
				continue
			}
			of := Weight{Rule: i, Canary: ref.Name == w.Canary, Weight: ref.Share()}
			stable, canary, weights = stable || !of.Canary, canary || of.Canary, append(weights, of)
		}
	}
	if !stable || !canary {
		return nil
	}
	return weights
}

// Rest returns the route, which has Weights, with those that the plugin sets while no new version is rolled out: 100 for the stable Service, and 0
// for the canary.
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
		for _, ref := range refs {
			backend, _ := ref.(map[string]any)
			switch backend["name"] {
			case w.Stable:
				backend["weight"] = 100
			case w.Canary:
				backend["weight"] = 0
			}
		}
	}
	return json.Marshal(object)
}
