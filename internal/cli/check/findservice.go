package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// FindNamespace gives the Service its namespace, if it has none: that of the only Service of its name, or, if it may be
// assumed, of the only one that routes have as a parent.
func (t *Traffic) FindNamespace(key *mesh.ServiceKey, assume bool) error {
	if key.Namespace != "" {
		return nil
	}
	found := t.world.files.ServicesNamed(key.Kind, key.Name)
	if !t.options.Anywhere || len(found) != 1 {
		key.Namespace = t.options.Namespace
	}
	if key.Namespace == "" {
		if context := t.world.context; len(found) == 0 && context != nil {
			found = context.objects.ServicesNamed(key.Kind, key.Name)
		}
		if len(found) == 0 && assume {
			found = t.table.Parents(key.Kind, key.Name)
		}
		switch len(found) {
		case 0:
			return t.lacks(*key, key.Kind+" "+key.Name)
		case 1:
			*key = found[0]
		default:
			names := make([]string, len(found))
			for i := range found {
				names[i] = found[i].Namespace
			}
			return fmt.Errorf("%s %s is in namespaces %s: specify one with --namespace", key.Kind, key.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

// lacks is the error that a Service is not in the input, with that which is probably meant.
func (t *Traffic) lacks(key mesh.ServiceKey, written string) error {
	err := t.options.lacks(written)
	near, ok := t.world.files.NearestService(key)
	if named := t.world.files.ServicesNamed(key.Kind, key.Name); !ok && len(named) == 1 {
		near, ok = named[0], true
	}
	if ok && !t.options.Earlier {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// lacks is the error that an object is not in the input, nor to be seen in the cluster.
func (o *Options) lacks(object string) error {
	switch {
	case o.Earlier:
		return fmt.Errorf("%s is not in the input, which may have been elsewhere there; expect a backend or a status until the revision has it", object)
	case o.Cluster != nil && len(o.named()) == 0:
		return fmt.Errorf("you cannot read %s", object)
	case o.Cluster != nil:
		return fmt.Errorf("%s is not in the input, and you cannot read it in the cluster", object)
	case o.Alone:
		return fmt.Errorf("%s is not in the input; add it", object)
	}
	return fmt.Errorf("%s is not in the input; add it, or use --cluster", object)
}

// findService gives the Service its namespace, and returns an error where it is not
// known, and not to be assumed.
func (t *Traffic) findService(key *mesh.ServiceKey, assume bool) error {
	if err := t.FindNamespace(key, assume); err != nil {
		return err
	}
	if assume && slices.Contains(t.table.Parents(key.Kind, key.Name), *key) {
		return nil
	}
	if _, err := mesh.FindService(t.world, *key); errors.Is(err, mesh.ErrUnknown) {
		if found := *key; t.options.Cluster == nil && t.options.Namespace == "" {
			if found.Namespace = "default"; t.has(found) { // which objects that name none get
				return fmt.Errorf("%s is not in the input, which has %s; if this is meant, set its namespace with -n", key, found)
			}
		}
		err := t.lacks(*key, key.String())
		if assume && t.options.Cluster == nil { // what diff shows of the version without routes
			why := "no route of the input has it as a parent, so requests reach the Service itself, if it exists"
			if left := t.leftOutOn(*key); len(left) > 0 {
				why = firstOf(distinct(left))
			}
			err = fmt.Errorf("%w; %s", err, why)
		}
		return err
	}
	return nil
}
