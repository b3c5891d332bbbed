package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// checkUnsupportedFields reports what the mesh does not apply of the rules of a route with a mesh
// parent.
func checkUnsupportedFields(p *validate.Pass) {
	profile := p.Policy.Mesh
	if profile == nil || len(p.Parents()) == 0 {
		return
	}
	for use := range p.Route.Uses() {
		does := profile.Does(p.Route.Kind, use.Field)
		f := validate.Finding{
			Field:     use.Path(),
			Remedy:    "remove it",
			Reference: validate.Reference{Detail: string(use.Field)},
		}
		if does.Instead != "" {
			f.Remedy = "use " + does.Instead
		}
		switch does.Value {
		case mesh.RouteDropped:
			f.Problem = dropped(profile, use.Field)
		case mesh.RequestFails:
			f.Problem, f.Default = fmt.Sprintf("%s does not support %s: the requests fail", profile.Title, use.Field.Noun()), validate.Warn
		case mesh.Ignored:
			f.Problem = fmt.Sprintf("%s ignores %s", profile.Title, use.Field.Noun())
			if secures(use.Field) {
				f.Problem += ": the requests are not checked"
			} else {
				f.Default = validate.Warn
			}
		case mesh.BoundsRequest, mesh.BoundsRequestWithoutRetry:
			if !unbounded(&p.Route.Spec.Rules[use.Rule], does.Value) {
				continue
			}
			f.Problem, f.Default = profile.Title+" bounds the whole request by timeouts.backendRequest, and ignores timeouts.request", validate.Warn
			if does.Value == mesh.BoundsRequest {
				f.Problem = profile.Title + " bounds the whole request, all tries together, by timeouts.backendRequest"
			}
		default:
			if !joinsPath(p, &use, &f) {
				continue
			}
		}
		reportUnsupported(p, f)
	}
}

// unbounded reports whether a bound of the whole request in place of one of a try changes what
// the rule says: it has another bound of the whole request, or retries that are not bounded.
func unbounded(rule *mesh.RouteRule, does mesh.Treatment) bool {
	if rule.Retry != nil {
		return does == mesh.BoundsRequest
	}
	return rule.Timeouts.Request != "" && rule.Timeouts.Request != rule.Timeouts.BackendRequest
}

// joinsPath describes a path prefix that a filter replaces, where the mesh loses the slash after it or
// doubles it. It reports whether that is so.
func joinsPath(p *validate.Pass, use *mesh.Use, f *validate.Finding) bool {
	filter, rule := p.Route.FilterOf(use), &p.Route.Spec.Rules[use.Rule]
	if filter == nil {
		return false
	}
	var path *mesh.PathModifier
	switch {
	case filter.URLRewrite != nil:
		path, f.Field = filter.URLRewrite.Path, f.Field+".urlRewrite"
	case filter.RequestRedirect != nil:
		path, f.Field = filter.RequestRedirect.Path, f.Field+".requestRedirect"
	}
	if path == nil || path.ReplacePrefixMatch == nil {
		return false
	}
	prefix := rule.Prefix()
	to, asIs := p.Policy.Mesh.Join(filter.Type, prefix, *path.ReplacePrefixMatch)
	if !asIs {
		return false
	}
	from := strings.TrimSuffix(prefix, "/") + "/a"
	f.Field += ".path.replacePrefixMatch"
	f.Problem = fmt.Sprintf("%s joins the new prefix and the rest of the path as they are: %s becomes %s", p.Policy.Mesh.Title, from, to+strings.TrimPrefix(from, prefix))
	f.Default, f.Remedy = validate.Warn, "match and replace a longer prefix"
	if filter.RequestRedirect != nil && to != "/" {
		f.Remedy = "set it to " + strings.TrimRight(to, "/")
		if prefix == "/" {
			f.Remedy += "/"
		}
	}
	return true
}

// dropped describes a route that the mesh does not apply at all.
func dropped(profile *mesh.Profile, field mesh.Field) string {
	return fmt.Sprintf("%s drops the whole route because of %s, or keeps its former version", profile.Title, field.Noun())
}

// secures reports whether requests pass unchecked where the field is ignored.
func secures(field mesh.Field) bool {
	return field == mesh.RuleFilter(mesh.ExternalAuthFilter) || field == mesh.BackendFilter(mesh.ExternalAuthFilter)
}

// reportUnsupported reports the finding: as a warning where the release of the mesh is newer than
// what is known of it.
func reportUnsupported(p *validate.Pass, f validate.Finding) {
	if p.Policy.Mesh.Newer() {
		f.Default = validate.Warn
		f.Problem += ", as of release " + p.Policy.Mesh.Newest
	}
	p.Report(f)
}

// unselectedPorts describes the ports that the mesh does not apply the route on, as the parentRef has
// no port; nil if there are none.
func unselectedPorts(profile *mesh.Profile, parent *validate.Parent, unselected []mesh.Port) *validate.Finding {
	kind := parent.Route.Kind
	var ports []string
	for _, port := range unselected {
		ports = append(ports, strconv.Itoa(int(port.Number)))
	}
	if len(ports) == 0 {
		return nil
	}
	noun, article := "port", "an"
	if len(ports) > 1 {
		noun = "ports"
	}
	if kind == mesh.GRPCRoute {
		article = "a"
	}
	return &validate.Finding{
		Field: mesh.ParentPath(parent.Index, ""), Value: parent.Ref.Name, Default: validate.Warn,
		Reference: validate.Reference{Service: parent.Key, Detail: strings.Join(ports, ",")},
		Problem: fmt.Sprintf("%s ignores %s %s without port on %s %s of %s, which needs appProtocol %s",
			profile.Title, article, kind, noun, shortList(ports), parent.Key, profile.Portless.Value[kind]),
		Remedy: "set port, or appProtocol",
	}
}
