// Package bindings says, in the form that commands show, what becomes of each route on a Service.
package bindings

import (
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Route is a route on a port.
type Route struct {
	Route string `json:"route"`
	// Scope is "producer" or "consumer of NAMESPACE".
	Scope string `json:"scope"`
	// Port is zero for a route that attaches to none.
	Port     int32          `json:"port,omitempty"`
	Protocol mesh.Protocol  `json:"protocol,omitempty"`
	State    validate.State `json:"state"`
	// Acknowledged is what a mesh has answered about the parentRef: applied, refused, stale, or
	// unanswered. Empty for manifests.
	Acknowledged string `json:"acknowledged,omitempty"`
	// By is the route that it loses to, is replaced by, or shares the port with.
	By string `json:"by,omitempty"`
	// Reason is why it does not apply, or has no effect all the same, and Rule the rule that says so.
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// LeavesBy are the other ports of the Service that requests to this port are sent to.
	LeavesBy []int32 `json:"leavesBy,omitempty"`
}

// Routes returns what becomes of each parentRef to the Service, by port and scope; those
// that attach to no port first. Of the assumed faults, those that cannot be known count as
// not there. The book has what meshes have answered; nil for manifests.
func Routes(engine *validate.Engine, reader mesh.Reader, key mesh.ServiceKey, assumed validate.Faults, book *answers.Book) ([]Route, error) {
	found, err := Sorted(engine, reader, key)
	routes := make([]Route, len(found))
	for i := range found {
		routes[i] = RouteOf(&found[i], assumed, book)
	}
	return routes, err
}

// Sorted returns the bindings on the ports of the Service, in the order of Routes.
func Sorted(engine *validate.Engine, reader mesh.Reader, key mesh.ServiceKey) ([]validate.Binding, error) {
	found, err := engine.Table(reader, key).Bindings()
	slices.SortStableFunc(found, validate.Binding.Compare)
	return found, err
}

// RouteOf returns the row of a binding; see Routes.
func RouteOf(b *validate.Binding, assumed validate.Faults, book *answers.Book) Route {
	r := Route{Route: b.Route.String(), Scope: b.At.Scope.String(), Port: b.At.Port, Protocol: b.At.Protocol, State: b.State}
	r.Acknowledged = book.Of(r.Route, b.Ref).State
	if b.State.InEffect() && b.Unknown&^assumed != 0 {
		r.State, r.Reason = validate.Unknown, validate.Unread
		return r
	}
	if b.By != nil {
		r.By = b.By.String()
	}
	r.Reason, r.Rule = b.Reason()
	return r
}
