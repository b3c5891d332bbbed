package traffic

import (
	"maps"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Clients is what the clients of one namespace meet at a Service port, worked out once for many
// requests. It is for one goroutine.
type Clients struct {
	table  *Table
	routes *portRoutes
}

// Services returns the Services that routes name as parents, in an order of their own.
func (t *Table) Services() []mesh.ServiceKey {
	return slices.SortedFunc(maps.Keys(t.bound), compareKeys)
}

// ClientsOf returns what the clients in the request's namespace meet at its Service port. It is an
// error if the Service or the port does not exist.
func (t *Table) ClientsOf(request Request) (*Clients, error) {
	routes, err := t.portRoutesOf(&request)
	if err != nil {
		return nil, err
	}
	return &Clients{t, routes}, nil
}

// Kind is the most specific kind of route that holds the port; empty where none does.
func (c *Clients) Kind() mesh.RouteKind { return c.routes.kind }

// Conditions returns the conditions of each match of the routes that hold the port, by precedence.
func (c *Clients) Conditions() [][]mesh.Condition {
	all := make([][]mesh.Condition, len(c.routes.entries))
	for i := range c.routes.entries {
		e := &c.routes.entries[i]
		for j := range e.conditions {
			all[i] = append(all[i], e.conditions[j].Condition)
		}
	}
	return all
}

// Decide returns the match that decides a request, nil if none does, and what becomes of the
// request. Its Service, port and client are taken to be those of the Clients.
func (c *Clients) Decide(request *Request) (*Place, Outcome, error) {
	chosen := c.routes.decide(request)
	outcome, _, err := c.table.outcomeOf(c.routes, chosen)
	if err != nil || chosen == nil {
		return nil, outcome, err
	}
	return chosen.place(), outcome, nil
}

// Example returns a value that meets the condition, for one of a regular expression as far as it
// finds one: it is "" otherwise.
func Example(condition mesh.Condition) string {
	if condition.Type != mesh.RegularExpression {
		return condition.Text
	}
	c := newCondition(condition)
	return c.example()
}
