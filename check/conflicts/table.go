package conflicts

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/printable"
)

// Table writes the list as a table: of all namespaces with one more column, with one for
// dormant routes if there are any, and wide with all routes and the reasons of those that do
// not take part.
func (l *List) Table(w io.Writer, allNamespaces, wide bool) error {
	out := printers.GetNewTabWriter(w)
	asleep := slices.ContainsFunc(l.Items, func(b Binding) bool { return b.names(Dormant, true) != "-" })
	row := func(cells ...string) {
		if !asleep {
			cells = slices.Delete(cells, 6, 7)
		}
		if !allNamespaces {
			cells = cells[1:]
		}
		if !wide {
			cells = cells[:len(cells)-1]
		}
		printable.Row(out, cells...)
	}
	row("NAMESPACE", "SERVICE", "PORT", "SCOPE", "WINNER", "LOSERS", "DORMANT", "WHY", "NOT ELIGIBLE")
	for i := range l.Items {
		b := &l.Items[i]
		service := b.Service.Name
		if b.Service.Kind != mesh.ServiceKind {
			service = strings.ToLower(b.Service.Kind) + "/" + service
		}
		row(b.Service.Namespace, service, b.port(), b.Scope, b.names(Holds, wide), b.names(Loses, wide), b.names(Dormant, wide), b.Why, b.names(Absent, true))
	}
	return out.Flush()
}

// port reads "80/TCP", or "80/TCP (http)" for a named port.
func (b *Binding) port() string {
	port := fmt.Sprintf("%d/%s", b.Port, b.Protocol)
	if b.PortName != "" {
		port += " (" + b.PortName + ")"
	}
	return port
}

// names lists the routes in one state: the first, and how many more; or all.
func (b *Binding) names(state State, all bool) string {
	var names []string
	for _, route := range b.Routes {
		if route.State != state {
			continue
		}
		name := route.String()
		if route.Reason != "" && state == Absent {
			name += " (" + route.Reason + ")"
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0:
		return "-"
	case all || len(names) == 1:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
