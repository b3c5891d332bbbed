package traffic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// RequestClass is the class of the requests that one match decides, or that no match does.
type RequestClass struct {
	Class Class
	// Witness is one of the requests; its Service, port, and client are those of the class.
	Witness Request
	// Chosen is the match that decides; nil where none does.
	Chosen *Place
	// Outcome is what becomes of the requests.
	Outcome Outcome
}

// Classes returns the classes of requests to the Services with routes, by Service, port, and
// namespace of the client: one for each match that decides any request, and one for the requests
// that none decides. Services that are not in the input have none: missing are their names.
func (t *Table) Classes() (classes []RequestClass, missing []string, err error) {
	var keys []mesh.ServiceKey
	for key := range t.bound {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		found, err := t.ClassesOf(key)
		switch {
		case errors.Is(err, mesh.ErrUnknown), errors.Is(err, mesh.ErrNotFound):
			missing = append(missing, key.String())
			continue
		case err != nil:
			return nil, nil, err
		}
		classes = append(classes, found...)
	}
	return classes, missing, nil
}

// ErrTooMany is why a port has no classes: it has too many matches.
var ErrTooMany = errors.New("too many matches to find the classes of requests")

// ClassesOf returns the classes of requests to one Service. The error is mesh.ErrUnknown or mesh.ErrNotFound
// where it is not in the input, and ErrTooMany where it has too many matches.
func (t *Table) ClassesOf(key mesh.ServiceKey) (classes []RequestClass, err error) {
	service, err := mesh.FindService(t.reader, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	for _, port := range ports([2]*mesh.Service{service}) {
		found, err := t.classesOf(service, port)
		if err != nil {
			return nil, err
		}
		classes = append(classes, found...)
	}
	return classes, nil
}

// classesOf returns the classes of the requests to a port: of the clients of each namespace with consumer
// routes on it, and of all others.
func (t *Table) classesOf(service *mesh.Service, port mesh.Port) (classes []RequestClass, err error) {
	clients := []string{service.Key.Namespace}
	for _, r := range t.bound[service.Key] {
		clients = append(clients, r.Namespace)
	}
	slices.Sort(clients[1:])
	var seen []string
	for _, from := range clients {
		if slices.Contains(seen, from) {
			continue
		}
		seen = append(seen, from)
		routes, err := t.portRoutes(service, port, from)
		if err != nil {
			return nil, err
		}
		if from != service.Key.Namespace && routes.scope.Role() != mesh.Consumer {
			continue // as all other clients
		}
		found, err := t.classesFor(routes, from)
		if err != nil {
			return nil, err
		}
		classes = append(classes, found...)
	}
	return classes, nil
}

// classesFor compares the port with one that does not exist: all requests meet something else there.
func (t *Table) classesFor(routes *portRoutes, from string) (classes []RequestClass, err error) {
	key, port := routes.service.Key, routes.port
	c := newComparer(Request{Service: key, Port: port.Number, Protocol: port.Protocol, From: from}, maxComparisons)
	c.sides[0] = side{table: t, routes: routes}
	c.sides[1] = side{table: t, missing: noService.answer("")}
	points := c.space()
	for i := range c.sides {
		if err := c.prepare(&c.sides[i]); err != nil {
			return nil, err
		}
	}
	seen := map[*entry]bool{}
	for _, p := range points {
		p.lists = [2][]reduced{slices.Clone(c.reduce(0, p)), slices.Clone(c.reduce(1, p))}
		for i := range p.lists[0] {
			e := p.lists[0][i].decides()
			if seen[e] {
				continue
			}
			if c.work < 0 {
				return nil, fmt.Errorf("%s port %d: %w", key, port.Number, ErrTooMany)
			}
			found, ok := c.pair(p.lists, i, 0)
			if !ok {
				continue
			}
			class := RequestClass{Class: c.class(p, &found), Outcome: c.outcomeOf(0, &found.sides[0])}
			if class.Witness, ok = c.witness(p, &found); !ok {
				continue
			}
			seen[e] = true
			if from != key.Namespace {
				class.Class.From = from
			}
			if e != nil {
				class.Chosen = e.place()
			}
			classes = append(classes, class)
		}
		p.lists = [2][]reduced{}
	}
	return classes, nil
}
