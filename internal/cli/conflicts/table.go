package conflicts

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Table writes the list as a table: of all namespaces with one more column, and wide with all
// routes, and why the others neither apply nor lose the port.
func (l *List) Table(w io.Writer, allNamespaces, wide bool) error {
	out := printers.GetNewTabWriter(w)
	row := func(cells ...string) {
		if !allNamespaces {
			cells = cells[1:]
		}
		printable.Row(out, cells...)
	}
	row("NAMESPACE", "SERVICE", "PORT", "SCOPE", "WINNER", "LOSERS", "WHY", "OTHERS")
	for i := range l.Items {
		b := &l.Items[i]
		service := b.Service.Name
		if b.Service.Kind != mesh.ServiceKind {
			service = strings.ToLower(b.Service.Kind) + "/" + service
		}
		row(b.Service.Namespace, service, b.port(), b.Scope, b.names(wide, validate.State.InEffect), b.names(wide, loses), b.Why, b.names(wide, others))
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

func loses(state validate.State) bool { return state == validate.Loses }

func others(state validate.State) bool { return !state.InEffect() && !loses(state) }

// names lists the routes in some states: the first, and how many more; or all.
func (b *Binding) names(all bool, in func(validate.State) bool) string {
	var names []string
	for _, route := range b.Routes {
		if !in(route.State) {
			continue
		}
		name := route.String()
		switch {
		case !others(route.State):
		case all:
			name += " (" + string(route.State) + ": " + route.Reason + ")"
		default:
			name += " (" + string(route.State) + ")"
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
