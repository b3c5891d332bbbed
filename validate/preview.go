package validate

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// LabelPreview is what a change of a namespace's labels does to routes: those that are
// added to it. It is for one goroutine.
type LabelPreview struct {
	// Routes counts the routes of the namespace that rules are about.
	Routes int
	// Denied are those that would be denied if they were created after the change, and not
	// before, with the rules: "HTTPRoute cart (parent-headless)". Ungranted are those that
	// lose their grant, but are not denied, since the mode does not enforce.
	Denied, Ungranted []string
	// Already counts those that would be denied before and after, and Losing are those of them that lose their grant.
	Already int
	Losing  []string
	// Refused are consumer routes of other namespaces that the change refuses.
	Refused []string
	// Unreadable are sentences on annotations that cannot be read after the change.
	Unreadable []string

	engine        *Engine
	old, now      *mesh.Namespace
	before, after mesh.Reader
	refused       map[string]bool
}

// PreviewLabels returns an empty preview of the change.
func (e *Engine) PreviewLabels(world mesh.Reader, old, now *mesh.Namespace) *LabelPreview {
	p := &LabelPreview{engine: e, old: old, now: now, before: mesh.Assume(world, old), after: mesh.Assume(world, now), refused: map[string]bool{}}
	for _, sentence := range now.Unreadable() { // also where it was so before: who changes a label beside it, or the annotation, relies on it
		p.Unreadable = append(p.Unreadable, sentence)
	}
	return p
}

// After is the cluster after the change.
func (p *LabelPreview) After() mesh.Reader { return p.after }

// Add adds a route of the namespace.
func (p *LabelPreview) Add(route *mesh.Route) error {
	if !p.engine.Concerns(route) {
		return nil
	}
	p.Routes++
	before, err := p.engine.Judge(&Request{Route: route}, p.before)
	if err != nil {
		return err
	}
	after, err := p.engine.Judge(&Request{Route: route}, p.after)
	if err != nil {
		return err
	}
	name := string(route.Kind) + " " + route.Metadata.Name
	switch loses := p.losesGrant(route); {
	case after.Denied() && !before.Denied():
		p.Denied = append(p.Denied, name+" ("+strings.Join(denying(&after), ", ")+")")
	case after.Denied():
		p.Already++
		if loses {
			p.Losing = append(p.Losing, name)
		}
	case loses:
		p.Ungranted = append(p.Ungranted, name)
	}
	return nil
}

// losesGrant reports whether the route loses a grant by what is not dormant of it, whatever else is wrong with it.
func (p *LabelPreview) losesGrant(route *mesh.Route) bool {
	grants := &p.engine.policy.Grants
	needed := grants.Needed(p.now.Name, route.Awake(route.Dormant(p.engine.policy.Mesh)).Spec.ParentRefs)
	granted := func(role mesh.Role) bool { return grants.Allows(p.old, role, route.Kind) }
	return p.engine.byFault[GrantMissing].action != Off && slices.ContainsFunc(grants.Missing(p.now, route.Kind, needed), granted)
}

// AddConsumers adds the consumer routes on a Service of the namespace.
func (p *LabelPreview) AddConsumers(service mesh.ServiceKey) error {
	routes, err := mesh.AttachedRoutes(p.after, service, "")
	if err != nil {
		return err
	}
	before, after := p.engine.Table(p.before, service), p.engine.Table(p.after, service)
	isRefused := func(b *Binding) bool { return b.Fault == ConsumerRefused }
	isNot := func(b *Binding) bool { return !isRefused(b) }
	for _, route := range routes {
		refused, err := becomes(route, before, after, isNot, isRefused)
		if err != nil {
			return err
		}
		if name := route.String(); refused != nil && !p.refused[name] {
			p.refused[name] = true
			p.Refused = append(p.Refused, name)
		}
	}
	return nil
}

// becomes returns the first binding of the route that is so in the table after a change, where all by the same parentRef
// were otherwise in the one before; nil where there is none.
func becomes(route *mesh.AttachedRoute, before, after *Table, was, is func(*Binding) bool) (*Binding, error) {
	old, err := before.of(nil, route)
	if err != nil {
		return nil, err
	}
	now, err := after.of(nil, route)
	if err != nil {
		return nil, err
	}
	for i := range now {
		not := func(b Binding) bool { return b.Ref == now[i].Ref && !was(&b) }
		if is(&now[i]) && !slices.ContainsFunc(old, not) {
			return &now[i], nil
		}
	}
	return nil, nil
}

// denying returns the rules that deny, each once.
func denying(verdict *Verdict) []string {
	var rules []string
	for i := range verdict.Findings {
		if f := &verdict.Findings[i]; f.Effect == Deny && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}
