package traffic

import (
	"cmp"
	"reflect"

	"github.com/gammaguard/gammaguard/mesh"
)

// edit is what becomes of a route that two versions have and that differs.
type edit struct {
	// applies: it does, in one of the versions at least.
	applies bool
	// off says why it does not in the version after.
	off string
}

// edited returns the routes that both tables have and that differ, by their names.
func edited(before, after *Table) map[string]*edit {
	specs, edits := map[string]*mesh.RouteSpec{}, map[string]*edit{}
	for _, r := range before.routes {
		specs[r.String()] = r.spec
	}
	for _, r := range after.routes {
		if was := specs[r.String()]; was != nil && !reflect.DeepEqual(was, r.spec) {
			edits[r.String()] = &edit{}
		}
	}
	return edits
}

// effect finds out which of the routes that were edited apply to a Service.
func (d *differ) effect(key mesh.ServiceKey, services [2]*mesh.Service) error {
	for i, t := range d.tables {
		for _, r := range t.bound[key] {
			e := d.edited[r.String()]
			if e == nil || e.applies {
				continue
			}
			why, err := t.off(r, services[i])
			if err != nil {
				return err
			}
			if e.applies = why == ""; i == 1 {
				e.off = cmp.Or(e.off, why)
			}
		}
	}
	return nil
}

// off says why a route does not apply to any port of a Service that it has as a parent; it is empty if it does.
func (t *Table) off(r *route, service *mesh.Service) (string, error) {
	if service == nil {
		return noService.answer(""), nil
	}
	view, err := t.view(service)
	if err != nil {
		return "", err
	}
	for _, b := range view.bindings[&r.AttachedRoute] {
		if b.State.InEffect() {
			return "", nil
		}
	}
	for _, port := range service.Ports {
		if port.Protocol != r.Kind.Transport() {
			continue
		}
		pr, err := t.portRoutes(service, port, r.Namespace)
		if err != nil {
			return "", err
		}
		if why := pr.offPort(r, r.Namespace); why != onOtherPort {
			return why, nil
		}
	}
	return onOtherPort, nil
}
