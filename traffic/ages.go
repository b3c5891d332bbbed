package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// AgeChange is a Service port where some requests go somewhere else if another route is the older one than is assumed.
type AgeChange struct {
	Service string `json:"service"`
	Port    int32  `json:"port,omitempty"`
	// Reason names routes whose age is not known, and says what depends on it.
	Reason string `json:"reason"`
	// Witness is one of the requests.
	Witness Request `json:"witness"`
}

// String reads "the older route wins, and the age of HTTPRoute shop/a and HTTPRoute shop/b is not known; ...".
func (a *AgeChange) String() string {
	return fmt.Sprintf("%s; requests to %s of %s may go somewhere else, for example %s", a.Reason, portTitle(a.Port), a.Service, &a.Witness)
}

// ages finds the requests that go somewhere else only if the age of routes is not what it is assumed to be, one for each reason.
func (d *differ) ages(assumed *comparer, services [2]*mesh.Service, port mesh.Port) error {
	request := &assumed.request
	other, err := d.comparer(d.turned(), request.Service, services, port, request.From)
	if err != nil {
		return err
	}
	changes, err := other.changes()
	if err != nil {
		return err
	}
	for i := range changes {
		witness := changes[i].Witness
		if assumed.sides[0].answer(&witness) != assumed.sides[1].answer(&witness) {
			continue // it is one of the changes
		}
		out := AgeChange{Service: request.Service.String(), Port: port.Number}
		for side := range assumed.sides {
			out.Reason = cmp.Or(out.Reason, assumed.sides[side].ageOf(&other.sides[side], &witness))
		}
		outside(&witness, services, port)
		out.Witness = witness
		if out.Reason != "" && !slices.ContainsFunc(d.out.Ages, func(have AgeChange) bool {
			return have.Service == out.Service && have.Port == out.Port && have.Reason == out.Reason
		}) {
			d.out.Ages = append(d.out.Ages, out)
		}
	}
	return nil
}

// ageOf says on the age of which routes it depends that a request meets one thing on a side, and another if it is turned; it is
// empty if it does not.
func (s *side) ageOf(turned *side, r *Request) string {
	if s.routes == nil {
		return ""
	}
	if split := s.table.splitDoubt(s.routes); split != "" {
		return split
	}
	a, b := s.routes.decide(r), turned.routes.decide(r)
	if a == nil || b == nil || a.route.String() == b.route.String() {
		return ""
	}
	return ageDoubt(&a.route.AttachedRoute, &b.route.AttachedRoute)
}
