package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
)

// Difference is which requests go somewhere else in one version of the routes than
// in another.
type Difference struct {
	// Ports are the Service ports with changes.
	Ports []PortDifference `json:"ports,omitempty"`
	// Expressions are regular expressions that changed, where it is not known whether requests go somewhere else.
	Expressions []ExpressionChange `json:"expressions,omitempty"`
	// Ages are Service ports where some requests go somewhere else if routes whose age is not known are older than others.
	Ages []AgeChange `json:"ages,omitempty"`
	// Unchanged counts the other request classes of the Services that have routes.
	Unchanged int `json:"unchanged"`
	// NotCompared counts the sets of manifests that are not compared, where several are.
	NotCompared int `json:"notCompared,omitempty"`
	// Dependencies are those of charts that one of the versions lacks, so that what they make is not compared.
	Dependencies []string `json:"dependencies,omitempty"`
	// LeftOut are the routes that the API server rejects, or may reject, in a version, so that what they say there is not compared.
	LeftOut []string `json:"leftOut,omitempty"`
	// Failures name those of them that the change breaks, and say why.
	Failures []string `json:"failures,omitempty"`
	// Notes say what the difference depends on.
	Notes []string `json:"notes,omitempty"`
}

// PortDifference is what changes for the requests to a Service port.
type PortDifference struct {
	Service string `json:"service"`
	// Namespace is the Service's.
	Namespace string        `json:"namespace"`
	Port      int32         `json:"port,omitempty"` // 0: every port without routes of its own
	Protocol  mesh.Protocol `json:"protocol"`
	Changes   []Change      `json:"changes"`
	// WitnessesOnly: there are too many matches to look at all their combinations.
	// Each change is one, but there may be others.
	WitnessesOnly bool `json:"witnessesOnly,omitempty"`
	// Sets name the sets of manifests in which this changes, where several are compared.
	Sets []string `json:"sets,omitempty"`
}

// Change is a class of requests that go somewhere else.
type Change struct {
	Class Class `json:"class"`
	// Before and After are what becomes of them, in either version.
	Before Outcome `json:"before"`
	After  Outcome `json:"after"`
	// Because names the route or the Service that is new or gone, or says why a route does not apply.
	Because string `json:"because,omitempty"`
	// Witness is one of the requests.
	Witness Request `json:"witness"`
}

// Diff compares two versions of the routes, and of the Services.
func Diff(before, after *Table) (*Difference, error) {
	return DiffWithin(before, after, maxComparisons)
}

// DiffWithin compares at most so many pairs of matches for the clients of one port. Beyond
// that, it finds witnesses only, as Diff does at 5,000,000.
func DiffWithin(before, after *Table, pairs int) (*Difference, error) {
	earlier := *before
	earlier.next = after
	tables := [2]*Table{&earlier, after.since(before)}
	d := &differ{
		tables: tables,
		turned: sync.OnceValue(func() [2]*Table { return [2]*Table{tables[0].turned(), tables[1].turned()} }),
		edited: edited(before, after), readings: map[string]set{}, out: &Difference{}, work: pairs,
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before.bound)), maps.Keys(after.bound))
	slices.SortFunc(keys, compareKeys)
	keys = slices.Compact(keys)
	for _, key := range keys {
		if err := d.service(key); err != nil {
			return nil, err
		}
	}
	d.renumbered(keys)
	for _, note := range slices.Sorted(maps.Keys(d.readings)) {
		routes := d.readings[note]
		maps.DeleteFunc(routes, func(route string, _ bool) bool { // what is so still
			now, was := strings.CutPrefix(note, formerly)
			return was && d.readings[now][route]
		})
		if len(routes) > 0 {
			if strings.HasPrefix(note, formerly) {
				note, _, _ = strings.Cut(note, instead)
			}
			d.out.Notes = append(d.out.Notes, someOf(slices.Collect(maps.Keys(routes)))+": "+note)
		}
	}
	for _, r := range after.routes {
		if e := d.edited[r.String()]; e != nil && !e.applies && e.off != "" {
			d.out.Notes = append(d.out.Notes, fmt.Sprintf("%s is changed, and does not apply: %s", r, e.off))
		}
	}
	d.out.Notes = compact(slices.DeleteFunc(d.out.Notes, func(note string) bool { // of which an age says more
		return slices.ContainsFunc(d.out.Ages, func(age AgeChange) bool { return age.Reason == note })
	}))
	return d.out, nil
}

func compareKeys(a, b mesh.ServiceKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// differ compares two tables: the version before and the one after.
type differ struct {
	tables [2]*Table
	// turned returns the tables with the other order of routes whose age is not known.
	turned func() [2]*Table
	// edited are the routes that both have and that differ, by their names.
	edited map[string]*edit
	// readings are what the mesh does with rules, with the routes of which that is so.
	readings map[string]set
	out      *Difference
	work     int
}

// touched reports whether a route on the Service is new, edited, or removed.
func (d *differ) touched(key mesh.ServiceKey) bool {
	same := func(a, b *route) bool { return a.Same(&b.AttachedRoute) && d.edited[a.String()] == nil }
	return !slices.EqualFunc(d.tables[0].bound[key], d.tables[1].bound[key], same)
}

// service compares what requests to a Service meet.
func (d *differ) service(key mesh.ServiceKey) error {
	var services [2]*mesh.Service
	var unknown [2]bool
	for i, t := range d.tables {
		service, err := mesh.FindService(t.reader, key)
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			unknown[i] = true
		case err != nil && !errors.Is(err, mesh.ErrNotFound):
			return fmt.Errorf("%s: %w", key, err)
		case err == nil:
			services[i] = service
		}
	}
	switch {
	case unknown[0] && unknown[1]:
		service := assumedService(key, d.tables[0], d.tables[1])
		services = [2]*mesh.Service{service, service}
	case unknown[0]:
		services[0] = services[1]
		d.out.Notes = append(d.out.Notes, d.tables[0].noteExists(key))
	}
	changes, notes := len(d.out.Ports), len(d.out.Notes)
	for _, port := range ports(services) {
		if err := d.port(key, services, port); err != nil {
			return err
		}
	}
	if unknown[0] && unknown[1] && (d.touched(key) || len(d.out.Ports) > changes) {
		d.out.Notes = slices.Insert(d.out.Notes, notes, d.tables[1].noteAssumed(key))
	}
	return d.effect(key, services)
}

// ports returns the ports of both versions of a Service, by number.
func ports(services [2]*mesh.Service) []mesh.Port {
	var all []mesh.Port
	for _, s := range services {
		if s == nil {
			continue
		}
		for _, p := range s.Ports {
			same := func(q mesh.Port) bool { return q.Number == p.Number && q.Protocol == p.Protocol }
			if !slices.ContainsFunc(all, same) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b mesh.Port) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
	})
	return all
}

// port compares what requests to a port meet, by the namespace of the client: each
// that has consumer routes, and all others.
func (d *differ) port(key mesh.ServiceKey, services [2]*mesh.Service, port mesh.Port) error {
	out := PortDifference{Service: key.String(), Namespace: key.Namespace, Port: port.Number, Protocol: port.Protocol}
	clients := []string{key.Namespace}
	for _, t := range d.tables {
		for _, r := range t.bound[key] {
			clients = append(clients, r.Namespace)
		}
	}
	slices.Sort(clients[1:])
	var seen []string
	for _, from := range clients {
		if slices.Contains(seen, from) {
			continue
		}
		seen = append(seen, from)
		if err := d.clients(&out, key, services, port, from); err != nil {
			return err
		}
	}
	if len(out.Changes) > 0 {
		d.out.Ports = append(d.out.Ports, out)
	}
	return nil
}

// clients compares what the clients of one namespace meet.
func (d *differ) clients(out *PortDifference, key mesh.ServiceKey, services [2]*mesh.Service, port mesh.Port, from string) error {
	c, err := d.comparer(d.tables, key, services, port, from)
	if err != nil || from != key.Namespace && !c.sides[0].consumers() && !c.sides[1].consumers() {
		return err // or as all other clients
	}
	c.edited, c.readings = d.edited, d.readings
	for i := range c.sides {
		if s := &c.sides[i]; s.routes != nil {
			c.notes = append(c.notes, s.table.unknowns(s.routes)...)
		}
	}
	c.notes = append(c.notes, c.stay()...)
	changes, err := c.changes()
	if err != nil {
		return err
	}
	if c.tied {
		if err := d.ages(c, services, port); err != nil {
			return err
		}
	}
	c.notes = append(c.notes, slices.Concat(c.uncertain(), c.unread(len(changes) > 0), c.unfit(len(changes) > 0))...)
	for _, unclear := range c.unclear() {
		c.differs = true
		if !slices.Contains(d.out.Expressions, unclear) {
			d.out.Expressions = append(d.out.Expressions, unclear)
		}
	}
	if c.differs || c.otherExamples() {
		c.approximate()
	}
	d.out.Unchanged += c.unchanged
	d.out.Notes = append(d.out.Notes, c.notes...)
	out.WitnessesOnly = out.WitnessesOnly || c.witnessesOnly
	for i, change := range changes {
		if i < maxDoubts {
			if err := d.doubts(c, &change.Witness); err != nil {
				return err
			}
		}
		outside(&change.Witness, services, port)
		if from != key.Namespace {
			change.Class.From = from
		}
		out.Changes = append(out.Changes, change)
	}
	return nil
}

// comparer returns a comparer of what the clients of one namespace meet in two tables.
func (d *differ) comparer(tables [2]*Table, key mesh.ServiceKey, services [2]*mesh.Service, port mesh.Port, from string) (*comparer, error) {
	c := newComparer(Request{Service: key, Port: port.Number, Protocol: port.Protocol, From: from}, d.work)
	for i, service := range services {
		s := &c.sides[i]
		s.table = tables[i]
		at := -1
		if service != nil {
			at = slices.IndexFunc(service.Ports, func(p mesh.Port) bool { return p.Number == port.Number && p.Protocol == port.Protocol })
		}
		switch {
		case service == nil:
			s.missing = noService.answer("")
			if _, err := mesh.FindService(s.table.reader, key); errors.Is(err, errGone) {
				s.because = key.String() + " " + absent(err)
			}
		case at < 0 && service.Type != mesh.ExternalName:
			s.missing = "no such port"
		default:
			here := port
			if at >= 0 {
				here = service.Ports[at]
			}
			var err error
			if s.routes, err = s.table.portRoutes(service, here, from); err != nil {
				return nil, err
			}
			c.tied = c.tied || s.routes.owner != nil && !s.routes.owner.SplitKnown()
		}
	}
	return c, nil
}

// outside names the port of a witness if the Service is assumed.
func outside(witness *Request, services [2]*mesh.Service, port mesh.Port) {
	if port.Number == 0 {
		witness.Port, witness.PortName = otherPort(services[0], port.Name), port.Name
	}
}

// maxDoubts is for how many changes of a port it is said what they hang on.
const maxDoubts = 100

// doubts notes what the answers to a witness hang on.
func (d *differ) doubts(c *comparer, witness *Request) error {
	for i := range c.sides {
		s := &c.sides[i]
		if s.routes == nil {
			continue
		}
		chosen := s.routes.decide(witness)
		if s.routes.onlyGRPC(witness, chosen) {
			was := ""
			if now := c.sides[1].routes; now == nil || !now.onlyTakesGRPC() {
				was = formerly
			}
			d.out.Notes = append(d.out.Notes, fmt.Sprintf("%sthe GRPCRoutes on %s of %s match gRPC requests only, whose content-type is application/grpc", was, portTitle(s.routes.port.Number), s.routes.service.Key))
		}
		notes, err := s.table.doubts(s.routes, witness, chosen)
		if err != nil {
			return err
		}
		for _, note := range notes {
			if note != noHost { // the class of the example says which hosts it has
				d.out.Notes = append(d.out.Notes, note)
			}
		}
	}
	return nil
}
