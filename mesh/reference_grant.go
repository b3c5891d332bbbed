package mesh

import (
	"cmp"
	"fmt"
)

// ReferenceGrant is what gammaguard reads of a ReferenceGrant (GEP-709).
type ReferenceGrant struct {
	Name string               `json:"-"`
	From []ReferenceGrantFrom `json:"from"`
	To   []ReferenceGrantTo   `json:"to"`
}

// ReferenceGrantFrom identifies whose references are granted.
type ReferenceGrantFrom struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
}

// ReferenceGrantTo identifies what may be referred to; an empty name is every object
// of the kind.
type ReferenceGrantTo struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// Permits reports whether the grant lets routes of a kind in a namespace refer to
// the Service or ServiceImport, which must be in the grant's own namespace.
func (g *ReferenceGrant) Permits(kind RouteKind, namespace string, to ServiceKey) bool {
	from := ReferenceGrantFrom{Group: GatewayGroup, Kind: string(kind), Namespace: namespace}
	for _, f := range g.From {
		if f != from {
			continue
		}
		for _, t := range g.To {
			if t.Group == groupOf(to.Kind) && t.Kind == to.Kind && (t.Name == "" || t.Name == to.Name) {
				return true
			}
		}
	}
	return false
}

// Misfit is a field of a ReferenceGrant that keeps it from permitting something, and what it would have to be.
type Misfit struct{ Field, Want string }

// Misfit returns the only field that keeps the grant from permitting what Permits asks for; nil if there are several, or none. A grant for
// another namespace is that of others, and one to another kind no attempt at this one, unless it misspells the kind.
func (g *ReferenceGrant) Misfit(kind RouteKind, namespace string, to ServiceKey) *Misfit {
	least := make([]Misfit, 2)
	for i, t := range g.To {
		if Nearest(t.Kind, []string{to.Kind}) == "" {
			continue
		}
		misfits := misfits(fmt.Sprintf("to[%d].", i), [][3]string{
			{"group", t.Group, groupOf(to.Kind)}, {"kind", t.Kind, to.Kind}, {"name", cmp.Or(t.Name, to.Name), to.Name},
		})
		if len(misfits) < len(least) {
			least = misfits
		}
	}
	for i, f := range g.From {
		if f.Namespace != namespace {
			continue
		}
		all := append(misfits(fmt.Sprintf("from[%d].", i), [][3]string{
			{"group", f.Group, GatewayGroup}, {"kind", f.Kind, string(kind)},
		}), least...)
		if len(all) == 1 {
			return &all[0]
		}
	}
	return nil
}

// misfits returns the fields that are not as they would have to be, of names, texts, and what these would have to be.
func misfits(at string, fields [][3]string) (all []Misfit) {
	for _, field := range fields {
		if field[1] != field[2] {
			all = append(all, Misfit{at + field[0], field[2]})
		}
	}
	return all
}
