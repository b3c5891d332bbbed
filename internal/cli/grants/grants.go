// Package grants lists what each namespace of a cluster may do in the mesh, where that
// comes from, and which of its routes use it.
package grants

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "GrantList"

// List is the grants of namespaces, by name.
type List struct {
	report.TypeMeta
	Items []Namespace `json:"items"`
	// Notes name the labels and annotations of gammaguard that have no effect where they are.
	Notes []string `json:"notes,omitempty"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`
}

// Namespace is what one namespace may do.
type Namespace struct {
	Name string `json:"name"`
	// Grants are what gives it roles; empty for no grant.
	Grants []Source `json:"grants"`
	// Refused reports that the label refuses all roles, whatever the configuration says.
	Refused bool `json:"refused,omitempty"`
	// Unreadable is the annotation that cannot be read, and so grants nothing.
	Unreadable string `json:"unreadable,omitempty"`
	// Mode is how deny rules act, and ModeFrom what sets it: "label" or "default".
	Mode     mesh.Mode `json:"mode"`
	ModeFrom string    `json:"modeFrom"`
	// Exempt reports that the configuration exempts the namespace: whatever the mode, a denial becomes an audit entry.
	Exempt bool `json:"exempt,omitempty"`
	// Uses are the routes that are granted what they need, and Lacks the others, as
	// "HTTPRoute cart". Both are null if the user cannot list the routes.
	Uses  []string `json:"uses"`
	Lacks []string `json:"lacks"`
}

// Source is what gives a namespace roles.
type Source struct {
	// From is "label", "default", or the selector in the configuration, such as
	// "grants.selectors[0]".
	From  string      `json:"from"`
	Roles []mesh.Role `json:"roles"`
	// RouteKinds are the kinds that it grants; empty for all.
	RouteKinds []mesh.RouteKind `json:"routeKinds,omitempty"`
}

// Find lists the grants of the namespaces, with these routes.
func Find(namespaces []*mesh.Namespace, routes []*manifest.Object, policy *validate.Policy) *List {
	list := &List{TypeMeta: report.Typed(Kind), Items: []Namespace{}}
	by := map[string][]*mesh.Route{}
	for _, object := range routes {
		by[object.Key.Namespace] = append(by[object.Key.Namespace], object.Route)
	}
	for _, namespace := range namespaces {
		labels, _ := namespace.Policy()
		item := Namespace{
			Name: namespace.Name, Grants: sources(namespace, &policy.Grants), Mode: policy.ModeIn(namespace), ModeFrom: "default",
			Exempt: policy.Exemptions.CoverNamespace(namespace.Name),
			Uses:   []string{}, Lacks: []string{},
		}
		item.Refused = labels.Grant == mesh.GrantNone
		if labels.Mode != "" {
			item.ModeFrom = "label"
		}
		if namespace.GrantKinds != nil && namespace.GrantKinds.Invalid {
			item.Unreadable = mesh.GrantRouteKindsAnnotation
		}
		for _, route := range by[namespace.Name] {
			// What is dormant of a route needs no grant until it is changed.
			needed := policy.Grants.Needed(namespace.Name, route.Awake(route.Dormant(policy.Mesh)).Spec.ParentRefs)
			switch name := string(route.Kind) + " " + route.Metadata.Name; {
			case len(needed) == 0:
			case len(policy.Grants.Missing(namespace, route.Kind, needed)) == 0:
				item.Uses = append(item.Uses, name)
			default:
				item.Lacks = append(item.Lacks, name)
			}
		}
		list.Items = append(list.Items, item)
	}
	slices.SortFunc(list.Items, func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// sources returns what gives the namespace roles.
func sources(namespace *mesh.Namespace, policy *mesh.GrantPolicy) []Source {
	found := []Source{}
	labels, _ := namespace.Policy()
	from := Source{From: "default"}
	if labels.Grant != "" {
		from.From = "label"
	}
	for _, role := range []mesh.Role{mesh.Producer, mesh.Consumer} {
		if policy.Label(namespace).Allows(role) {
			from.Roles = append(from.Roles, role)
		}
	}
	if kinds := namespace.GrantKinds; kinds != nil {
		if kinds.Invalid {
			return found
		}
		from.RouteKinds = kinds.With()
	}
	if len(from.Roles) > 0 {
		found = append(found, from)
	}
	if labels.Grant == mesh.GrantNone {
		return found
	}
	for i := range policy.Selectors {
		if selector := &policy.Selectors[i]; selector.Selects(namespace) {
			found = append(found, Source{fmt.Sprintf("grants.selectors[%d]", i), selector.Roles, selector.RouteKinds})
		}
	}
	return found
}

// String reads "all (HTTPRoute)": the grant as the label says it.
func (s *Source) String() string {
	text := string(mesh.Grant("").Plus(s.Roles...))
	if len(s.RouteKinds) > 0 {
		text += " (" + joined(s.RouteKinds) + ")"
	}
	return text
}

// joined reads "HTTPRoute, TCPRoute".
func joined(kinds []mesh.RouteKind) string {
	var text []string
	for _, kind := range kinds {
		text = append(text, string(kind))
	}
	return strings.Join(text, ", ")
}

// Effective reads "producer; consumer (HTTPRoute)", or "none (unreadable gammaguard.dev/grant-route-kinds)".
func Effective(namespace *mesh.Namespace, policy *validate.Policy) string {
	n := &Find([]*mesh.Namespace{namespace}, nil, policy).Items[0]
	if n.Unreadable != "" {
		return n.granted() + " (unreadable " + n.Unreadable + ")"
	}
	return n.granted()
}

// granted reads "producer; consumer (HTTPRoute)", or "none".
func (n *Namespace) granted() string {
	var all []string
	for i := range n.Grants {
		if text := n.Grants[i].String(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return cmp.Or(strings.Join(all, "; "), string(mesh.GrantNone))
}

// Table writes the list as a table; wide names the routes.
func (l *List) Table(w io.Writer, wide bool) error {
	shown := func(routes []string) string {
		switch {
		case routes == nil:
			return "unknown"
		case wide:
			return cmp.Or(strings.Join(routes, ", "), "-")
		}
		return strconv.Itoa(len(routes))
	}
	return l.table(w, []string{"ROUTES USING GRANT", "ROUTES LACKING GRANT"}, func(n *Namespace) []string {
		return []string{shown(n.Uses), shown(n.Lacks)}
	})
}

// TableWithoutRoutes writes the list as a table, for a list found with some of the routes only.
func (l *List) TableWithoutRoutes(w io.Writer) error {
	return l.table(w, nil, func(*Namespace) []string { return nil })
}

func (l *List) table(w io.Writer, more []string, cells func(n *Namespace) []string) error {
	out := printers.GetNewTabWriter(w)
	printable.Row(out, append([]string{"NAMESPACE", "GRANT", "GRANTED BY", "MODE", "SET BY"}, more...)...)
	for i := range l.Items {
		n := &l.Items[i]
		var from []string
		for j := range n.Grants {
			from = append(from, n.Grants[j].From)
		}
		if n.Refused {
			from = append(from, "label")
		}
		if n.Unreadable != "" {
			from = append(from, "unreadable "+n.Unreadable)
		}
		row := []string{n.Name, n.granted(), cmp.Or(strings.Join(from, "; "), "-"), Mode(n.Mode, n.Exempt), n.ModeFrom}
		printable.Row(out, append(row, cells(n)...)...)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return WriteNotes(w, l.Notes)
}

// Mode is the cell for the mode of a namespace: "enforce (exemption)" if it is exempt.
func Mode(mode mesh.Mode, exempt bool) string {
	if exempt {
		return fmt.Sprintf("%s (%s)", mode, validate.DowngradedByExemption)
	}
	return string(mode)
}

// WriteNotes writes notes below a table.
func WriteNotes(w io.Writer, notes []string) error {
	for _, note := range notes {
		if _, err := printable.Fprintf(w, "note: %s\n", note); err != nil {
			return err
		}
	}
	return nil
}
