package traffic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// renumbered notes the Services of which a port has the number that another one had: routes and callers that have the number reach
// another port now, which no outcome shows.
func (d *differ) renumbered(parents []mesh.ServiceKey) {
	keys := slices.Clone(parents)
	for _, r := range d.tables[1].routes {
		for i := range r.rules {
			for j := range r.rules[i].backends {
				keys = append(keys, r.rules[i].backends[j].ref.Service(r.Namespace))
			}
		}
	}
	slices.SortFunc(keys, compareKeys)
	for _, key := range slices.Compact(keys) {
		before, err := mesh.FindService(d.tables[0].reader, key)
		if err != nil {
			continue
		}
		after, err := mesh.FindService(d.tables[1].reader, key)
		if err != nil {
			continue
		}
		if moved := moved(before.Ports, after.Ports); len(moved) > 0 {
			d.out.Notes = append(d.out.Notes, fmt.Sprintf("%s: %s: what refers to a number reaches another port", key, strings.Join(moved, ", ")))
		}
	}
}

// moved says of each named port that has another number now what it was, if a number that one of them had is that of another port now.
func moved(before, after []mesh.Port) (texts []string) {
	reused := false
	for _, was := range before {
		i := slices.IndexFunc(after, func(p mesh.Port) bool { return p.Name == was.Name })
		if was.Name == "" || i < 0 || after[i].Number == was.Number {
			continue
		}
		texts = append(texts, fmt.Sprintf("port %s was %d and is %d", was.Name, was.Number, after[i].Number))
		reused = reused || slices.ContainsFunc(after, func(p mesh.Port) bool { return p.Number == was.Number && p.Protocol == was.Protocol })
	}
	if !reused {
		return nil
	}
	return texts
}
