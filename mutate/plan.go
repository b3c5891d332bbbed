package mutate

import "github.com/gammaguard/gammaguard/mesh"

// Withheld is the reason why changes are not made.
type Withheld string

const (
	// NotWithheld: the changes are made.
	NotWithheld Withheld = ""
	// WithheldByController: a controller writes the route, and would write it back.
	WithheldByController Withheld = "controller"
	// WithheldByExemption: the user or the namespace is exempt.
	WithheldByExemption Withheld = "exemption"
	// WithheldByMode: the namespace's mode does not enforce.
	WithheldByMode Withheld = "mode"
)

// Plan is what the mutations would set in a route, and whether they do. All changes of a
// route are made, or none.
type Plan struct {
	Changes []Change
	// Mode is the mode of the route's namespace.
	Mode mesh.Mode
	// Exempt is set if the request is exempt.
	Exempt bool
	// Controller reads "Canary shop/podinfo" if a controller writes the route.
	Controller string
}

// Withheld returns the reason why the changes are not made.
func (p *Plan) Withheld() Withheld {
	switch {
	case p.Controller != "":
		return WithheldByController
	case p.Exempt:
		return WithheldByExemption
	case p.Mode != mesh.Enforce:
		return WithheldByMode
	}
	return NotWithheld
}

// Made returns the changes that are made.
func (p *Plan) Made() []Change {
	if p.Withheld() != NotWithheld {
		return nil
	}
	return p.Changes
}

// Warns reports whether the author of the route gets a warning. In mode audit, nobody does.
func (p *Plan) Warns() bool { return !p.Exempt && p.Mode != mesh.Audit }

// Message tells the author of the route what the change, which is one of the plan, sets, or
// what would set it.
func (p *Plan) Message(c *Change) string {
	set := c.Path + " to " + quote(c.After)
	switch p.Withheld() {
	case WithheldByController:
		set = "set " + set + " in " + p.Controller + ", which writes this route"
	case WithheldByExemption:
		set = "would set " + set + " without the exemption"
	case WithheldByMode:
		set = "would set " + set + " in mode enforce"
	case NotWithheld:
		set = "set " + set
	}
	return set + ": " + c.Why + " (" + c.ID + ")"
}
