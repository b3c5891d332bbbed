package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// IsCanary reports whether the object is a Canary of Flagger.
func IsCanary(key manifest.Key) bool { return key.Group == "flagger.app" && key.Kind == "Canary" }

// canary is what is read of a Canary.
type canary struct {
	Spec struct {
		Provider  string `json:"provider"`
		TargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"targetRef"`
		Service struct {
			Name        string            `json:"name"`
			Port        int32             `json:"port"`
			PortName    string            `json:"portName"`
			AppProtocol string            `json:"appProtocol"`
			Hosts       []string          `json:"hosts"`
			GatewayRefs []json.RawMessage `json:"gatewayRefs"`
			Match       []request         `json:"match"`
			Headers     *struct {
				Request  *headers `json:"request"`
				Response *headers `json:"response"`
			} `json:"headers"`
			Timeout        string          `json:"timeout"`
			BackendTimeout string          `json:"backendTimeout"`
			CORSPolicy     json.RawMessage `json:"corsPolicy"`
			Rewrite        *rewrite        `json:"rewrite"`
			Mirror         []struct {
				BackendRef json.RawMessage `json:"backendRef"`
			} `json:"mirror"`
			Primary struct {
				BackendRef json.RawMessage `json:"backendRef"`
			} `json:"primary"`
			Canary struct {
				BackendRef json.RawMessage `json:"backendRef"`
			} `json:"canary"`
		} `json:"service"`
		Analysis struct {
			Match []request `json:"match"`
		} `json:"analysis"`
	} `json:"spec"`
}

// headers are changes of headers.
type headers struct {
	Add    map[string]string `json:"add"`
	Set    map[string]string `json:"set"`
	Remove []string          `json:"remove"`
}

// rewrite is a change of the path or the host.
type rewrite struct {
	URI       string `json:"uri"`
	Authority string `json:"authority"`
	Type      string `json:"type"`
}

// request is a condition on requests, in the words of Istio.
type request struct {
	URI         *text           `json:"uri"`
	Method      *text           `json:"method"`
	Headers     map[string]text `json:"headers"`
	QueryParams map[string]text `json:"queryParams"`
}

// text is a condition on a text.
type text struct {
	Exact  string `json:"exact"`
	Prefix string `json:"prefix"`
	Regex  string `json:"regex"`
}

// maxMatches is how many matches a rule of an HTTPRoute may have.
const maxMatches = 64

type fields = map[string]any

// Canary returns the Services that Flagger makes for a Canary, and, last, the HTTPRoute that it writes. There is no route for
// a Canary with another provider. The problem says why the route, which is left out then, is not known.
func Canary(o *manifest.Object) (made []*manifest.Object, problem string) {
	var c canary
	if err := json.Unmarshal(o.JSON, &c); err != nil {
		return nil, "it cannot be read: " + err.Error()
	}
	s := &c.Spec.Service
	name := s.Name
	if name == "" {
		name = c.Spec.TargetRef.Name
	}
	switch {
	case name != "":
	case c.writesRoute():
		return nil, "spec.targetRef.name is missing"
	default:
		return nil, ""
	}
	suffixes := []string{"", "-primary", "-canary"}
	if c.Spec.TargetRef.Kind == mesh.ServiceKind { // Flagger then makes no Services
		suffixes = nil
	}
	var objects []fields
	for _, suffix := range suffixes {
		metadata := fields{"name": name + suffix, "namespace": o.Key.Namespace}
		port := fields{"name": s.PortName, "port": s.Port}
		if s.PortName == "" {
			port["name"] = "http"
		}
		if s.AppProtocol != "" {
			port["appProtocol"] = s.AppProtocol
		}
		objects = append(objects, fields{"apiVersion": "v1", "kind": mesh.ServiceKind, "metadata": metadata, "spec": fields{"selector": fields{"app": name + suffix}, "ports": []fields{port}}})
	}
	var rules []fields
	if c.writesRoute() {
		rules, problem = c.rules(name)
	}
	if len(rules) > 0 {
		spec := fields{"parentRefs": s.GatewayRefs, "rules": rules}
		if len(s.Hosts) > 0 {
			spec["hostnames"] = s.Hosts
		}
		objects = append(objects, fields{"apiVersion": mesh.GatewayGroup + "/v1", "kind": string(mesh.HTTPRoute), "spec": spec, "metadata": fields{
			"name": name, "namespace": o.Key.Namespace,
			"ownerReferences": []fields{{"apiVersion": "flagger.app/v1beta1", "kind": "Canary", "name": o.Key.Name, "uid": "of-" + name, "controller": true}},
		}})
	}
	for _, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			return nil, "it cannot be written: " + err.Error()
		}
		read, errs := manifest.ReadUndecoded(o.Origin.File, data, o.Key.Namespace)
		if len(errs) > 0 || len(read) != 1 {
			return nil, fmt.Sprintf("it cannot be written: %v", errs)
		}
		read[0].Origin = o.Origin
		made = append(made, read[0])
	}
	return made, problem
}

func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// rules returns the rules of the route: the weighted one, and, where requests are selected for the canary, one for
// all others.
func (c *canary) rules(name string) (rules []fields, problem string) {
	switch s := &c.Spec.Service; {
	case given(s.Primary.BackendRef), given(s.Canary.BackendRef):
		return nil, "a backendRef of spec.service.primary or spec.service.canary is not supported here"
	case given(s.CORSPolicy): // some releases of Flagger write a filter for it, others none
		return nil, "spec.service.corsPolicy is not supported here"
	}
	matches, problem := routeMatches(c.Spec.Service.Match)
	if problem != "" {
		return nil, problem
	}
	if len(matches) == 0 {
		matches = []fields{{"path": fields{"type": mesh.PathPrefix, "value": "/"}}}
	}
	selected, problem := routeMatches(c.Spec.Analysis.Match)
	if problem != "" {
		return nil, problem
	}
	if len(matches)*max(len(selected), 1) > maxMatches {
		return nil, fmt.Sprintf("the route would have more than %d matches, which the API server refuses", maxMatches)
	}
	backend := func(suffix string, weight int) fields {
		return fields{"group": "", "kind": mesh.ServiceKind, "name": name + suffix, "port": c.Spec.Service.Port, "weight": weight}
	}
	rule := func(matches []fields, backends ...fields) fields {
		made := fields{"matches": matches, "backendRefs": backends}
		if filters := c.filters(); len(filters) > 0 {
			made["filters"] = filters
		}
		timeouts := fields{}
		for field, value := range map[string]string{"request": c.Spec.Service.Timeout, "backendRequest": c.Spec.Service.BackendTimeout} {
			if value != "" {
				timeouts[field] = value
			}
		}
		if len(timeouts) > 0 {
			made["timeouts"] = timeouts
		}
		return made
	}
	rules = []fields{rule(matches, backend("-primary", 100), backend("-canary", 0))}
	if len(selected) > 0 {
		var both []fields
		for _, of := range selected {
			for _, match := range matches {
				merged := maps.Clone(match)
				for _, part := range []string{"headers", "queryParams"} {
					if of[part] != nil {
						merged[part] = of[part]
					}
				}
				both = append(both, merged)
			}
		}
		rules[0]["matches"] = both
		rules = append(rules, rule(matches, backend("-primary", 100)))
	}
	return rules, ""
}

// filters returns the filters that change headers, path, and host, and those that mirror requests.
func (c *canary) filters() (filters []fields) {
	s := &c.Spec.Service
	add := func(kind, field string, h *headers) {
		if h == nil {
			return
		}
		modifier := fields{}
		for part, values := range map[string]map[string]string{"add": h.Add, "set": h.Set} {
			var list []fields
			for _, name := range slices.Sorted(maps.Keys(values)) {
				list = append(list, fields{"name": name, "value": values[name]})
			}
			if list != nil {
				modifier[part] = list
			}
		}
		if len(h.Remove) > 0 {
			modifier["remove"] = h.Remove
		}
		filters = append(filters, fields{"type": kind, field: modifier})
	}
	if s.Headers != nil {
		add("RequestHeaderModifier", "requestHeaderModifier", s.Headers.Request)
		add("ResponseHeaderModifier", "responseHeaderModifier", s.Headers.Response)
	}
	if r := s.Rewrite; r != nil {
		change := fields{}
		if r.Authority != "" {
			change["hostname"] = r.Authority
		}
		switch {
		case r.URI == "":
		case r.Type == "ReplacePrefixMatch":
			change["path"] = fields{"type": r.Type, "replacePrefixMatch": r.URI}
		default: // as Flagger takes every other type, and none
			change["path"] = fields{"type": "ReplaceFullPath", "replaceFullPath": r.URI}
		}
		filters = append(filters, fields{"type": "URLRewrite", "urlRewrite": change})
	}
	for _, mirror := range s.Mirror {
		filters = append(filters, fields{"type": "RequestMirror", "requestMirror": fields{"backendRef": mirror.BackendRef}})
	}
	return filters
}

// routeMatches returns the matches of a route for conditions in the words of Istio.
func routeMatches(requests []request) (matches []fields, problem string) {
	for i := range requests {
		r := &requests[i]
		match := fields{}
		if r.URI != nil {
			switch {
			case r.URI.Regex != "":
				match["path"] = fields{"type": mesh.RegularExpression, "value": r.URI.Regex}
			case r.URI.Exact != "":
				match["path"] = fields{"type": mesh.Exact, "value": r.URI.Exact}
			case r.URI.Prefix != "":
				match["path"] = fields{"type": mesh.PathPrefix, "value": r.URI.Prefix}
			default:
				return nil, "Flagger refuses a match of uri without exact, prefix, and regex"
			}
		}
		if r.Method != nil {
			if r.Method.Exact == "" {
				return nil, "Flagger refuses a match of method that is not exact"
			}
			match["method"] = r.Method.Exact
		}
		for part, values := range map[string]map[string]text{"headers": r.Headers, "queryParams": r.QueryParams} {
			var list []fields
			for _, name := range slices.Sorted(maps.Keys(values)) {
				switch value := values[name]; {
				case value.Exact != "":
					list = append(list, fields{"name": name, "type": mesh.Exact, "value": value.Exact})
				case value.Regex != "":
					list = append(list, fields{"name": name, "type": mesh.RegularExpression, "value": value.Regex})
				default:
					return nil, "Flagger refuses a match of " + part + " that is neither exact nor regex"
				}
			}
			if list != nil {
				match[part] = list
			}
		}
		if len(match) > 0 {
			matches = append(matches, match)
		}
	}
	return matches, ""
}
