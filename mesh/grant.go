package mesh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Grant is what a namespace's routes may do in the mesh: the value of GrantLabel.
type Grant string

// The grants that a mesh admin can give.
const (
	GrantNone     Grant = "none"
	GrantProducer Grant = "producer"
	GrantConsumer Grant = "consumer"
	GrantAll      Grant = "all"
)

// Grants returns every grant.
func Grants() []Grant { return []Grant{GrantNone, GrantProducer, GrantConsumer, GrantAll} }

// Allows reports whether the grant holds for the role.
func (g Grant) Allows(role Role) bool { return g == GrantAll || string(g) == string(role) }

// Plus returns the grant that allows the roles in addition.
func (g Grant) Plus(roles ...Role) Grant {
	for _, role := range roles {
		switch g {
		case "", GrantNone, Grant(role):
			g = Grant(role)
		default:
			g = GrantAll
		}
	}
	return g
}

// LabelPolicy is the content of a namespace's labels. A field is empty where its label
// is not set.
type LabelPolicy struct {
	Grant          Grant
	Mode           Mode
	ConsumerRoutes ConsumerRoutes
}

// LabelError reports that a label has an unknown value, and what it counts as.
type LabelError struct {
	Key, Value, CountsAs string
	Known                []string
}

// Error names the label, the value, what it counts as, and the values it may have.
func (e *LabelError) Error() string {
	return fmt.Sprintf("unknown value %q of label %s: it counts as %q (valid values: %s)", e.Value, e.Key, e.CountsAs, strings.Join(e.Known, ", "))
}

// Policy reads the namespace's labels. Any value yields a policy: an unknown one
// counts as the strictest known one, and is reported as an error. A nil namespace has
// no labels.
func (n *Namespace) Policy() (LabelPolicy, []error) {
	var (
		policy LabelPolicy
		errs   []error
	)
	if n == nil {
		return policy, nil
	}
	policy.Grant, errs = readLabel(n.Labels, GrantLabel, Grants(), errs)
	policy.Mode, errs = readLabel(n.Labels, ModeLabel, Modes(), errs)
	policy.ConsumerRoutes, errs = readLabel(n.Labels, ConsumerRoutesLabel, consumerRoutes(), errs)
	return policy, errs
}

// readLabel returns the label's value; where it is none of the known ones, the
// first of these, which is the strictest.
func readLabel[T ~string](all map[string]string, key string, known []T, errs []error) (T, []error) {
	text, set := all[key]
	if !set {
		return "", errs
	}
	if slices.Contains(known, T(text)) {
		return T(text), errs
	}
	unknown := &LabelError{Key: key, Value: text, CountsAs: string(known[0])}
	for _, k := range known {
		unknown.Known = append(unknown.Known, string(k))
	}
	return known[0], append(errs, unknown)
}

// GrantPolicy is what the configuration grants in addition to the labels.
type GrantPolicy struct {
	// Default is the grant of namespaces without GrantLabel.
	Default Grant
	// ConsumerRoutes is whether Services accept consumer routes where neither they nor their
	// namespaces have ConsumerRoutesLabel. Empty: they do.
	ConsumerRoutes ConsumerRoutes
	// Selectors grant by namespace labels. They add to the label or the default.
	Selectors []GrantSelector
	// ParentKinds are the other mesh parents, as "Kind.group": kinds of other
	// implementations that shape mesh traffic as a Service does.
	ParentKinds []string
	// Contact is whom to ask for a grant; empty for a mesh admin.
	Contact string
}

// GrantSelector grants roles, for some kinds of routes, to the namespaces that it
// selects.
type GrantSelector struct {
	Namespaces labels.Selector
	Roles      []Role
	// RouteKinds are the kinds that it grants; empty for all.
	RouteKinds []RouteKind
}

// Selects reports whether the selector selects the namespace.
func (s *GrantSelector) Selects(namespace *Namespace) bool {
	return s.Namespaces.Matches(labels.Set(namespace.Labels))
}

// Covers reports whether a parentRef needs a grant: a mesh parent, whatever some mesh may
// take for one, and other mesh parents.
func (p *GrantPolicy) Covers(ref *ParentRef) bool {
	switch ref.Class(nil) {
	case MeshParent, LookAlikeParent:
		return true
	case ImplementationSpecificParent:
		// Linkerd compares kinds and groups without regard to case.
		named := ref.EffectiveKind() + "." + ref.EffectiveGroup()
		return slices.ContainsFunc(p.ParentKinds, func(kind string) bool { return strings.EqualFold(kind, named) })
	}
	return false
}

// Needed returns the roles that parentRefs of a route in the namespace need, each once.
func (p *GrantPolicy) Needed(namespace string, refs []ParentRef) []Role {
	var needed []Role
	for i := range refs {
		if role := ScopeOf(namespace, refs[i].Service(namespace)).Role(); p.Covers(&refs[i]) && !slices.Contains(needed, role) {
			needed = append(needed, role)
		}
	}
	return needed
}

// Missing returns those of the roles that routes of the kind in the namespace are not
// granted.
func (p *GrantPolicy) Missing(namespace *Namespace, kind RouteKind, roles []Role) []Role {
	return slices.DeleteFunc(slices.Clone(roles), func(role Role) bool { return p.Allows(namespace, role, kind) })
}

// Label returns the grant by the namespace's label, or the default.
func (p *GrantPolicy) Label(namespace *Namespace) Grant {
	policy, _ := namespace.Policy()
	return cmp.Or(policy.Grant, p.Default, GrantNone)
}

// Allows reports whether routes of the kind in the namespace are granted the role.
// The label none, which is also what an unknown value and an annotation that cannot be read
// count as, beats every selector.
func (p *GrantPolicy) Allows(namespace *Namespace, role Role, kind RouteKind) bool {
	policy, _ := namespace.Policy()
	narrowed := namespace.NarrowsGrant(kind)
	switch {
	case policy.Grant == GrantNone, narrowed && namespace.GrantKinds.Invalid:
		return false
	case !narrowed && cmp.Or(policy.Grant, p.Default).Allows(role):
		return true
	case namespace == nil:
		return false
	}
	return slices.ContainsFunc(p.Selectors, func(s GrantSelector) bool {
		return slices.Contains(s.Roles, role) &&
			(len(s.RouteKinds) == 0 || slices.Contains(s.RouteKinds, RouteKind(kind.Name()))) &&
			s.Selects(namespace)
	})
}
