package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// conflict returns the condition of a parentRef that has lost ports to a more
// specific kind of route: Accepted=False if it has lost all, PartiallyConflicted
// if it has lost some, an empty one if none (GEP-1294, Route types).
func (p *Place) conflict(route *mesh.AttachedRoute, ref int) Condition {
	if !p.policy.Implements(route.Kind) {
		return Condition{}
	}
	var (
		lost losses
		kept []string
	)
	for _, at := range route.PortScopes(ref, p.service) {
		port := strconv.Itoa(int(at.Port))
		if holder := p.standing.LostTo(route, at); holder != nil {
			lost.add(port, holder)
		} else {
			kept = append(kept, port)
		}
	}
	switch {
	case len(lost) == 0:
		return Condition{}
	case len(kept) == 0:
		return Condition{
			Type: Accepted, Status: "False", Reason: p.settings.ConflictReason,
			Message: fmt.Sprintf("%s, and this %s is ignored there; a more specific kind wins: use another port of the Service, or the same kind of route (route-conflict)",
				lost.describe(p.key), route.Kind),
		}
	}
	return Condition{
		Type: PartiallyConflicted, Status: "True", Reason: p.settings.ConflictReason,
		Message: fmt.Sprintf("%s, and this %s is ignored there, but not on %s; a more specific kind wins: name in the parentRef the port that is meant, or use the same kind of route (route-conflict)",
			lost.describe(p.key), route.Kind, portList(kept)),
	}
}

// losses are the ports that a parentRef has lost, by who has them, in the order
// of the Service.
type losses []loss

type loss struct {
	ports  []string
	winner string
}

func (l *losses) add(port string, holder *mesh.Holder) {
	winner := winnerOf(holder)
	for i := range *l {
		if (*l)[i].winner == winner {
			(*l)[i].ports = append((*l)[i].ports, port)
			return
		}
	}
	*l = append(*l, loss{ports: []string{port}, winner: winner})
}

// describe reads "port 80 of Service shop/cart is held by GRPCRoute shop/cart".
// It stays far under the 32 KiB that a condition's message may have.
func (l losses) describe(key mesh.ServiceKey) string {
	var text strings.Builder
	for i, loss := range l {
		if i == maxListed {
			fmt.Fprintf(&text, ", and %d more likewise", len(l)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(portList(loss.ports))
		if i == 0 {
			text.WriteString(" of " + key.String())
		}
		verb := " is held by "
		if len(loss.ports) > 1 {
			verb = " are held by "
		}
		text.WriteString(verb + loss.winner)
	}
	return text.String()
}

// winnerOf reads "GRPCRoute shop/cart", with "and N more" for the younger ones.
func winnerOf(holder *mesh.Holder) string {
	winner := holder.Routes[0].String()
	if more := len(holder.Routes) - 1; more > 0 {
		winner += fmt.Sprintf(" and %d more", more)
	}
	return winner
}

// maxListed bounds how many ports, or winners, a message lists.
const maxListed = 6

// portList reads "port 80" or "ports 80, 90 and 3 more".
func portList(ports []string) string {
	if len(ports) == 1 {
		return "port " + ports[0]
	}
	listed := ports[:min(len(ports), maxListed)]
	text := "ports " + strings.Join(listed, ", ")
	if more := len(ports) - len(listed); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func sortByRef(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Ref, b.Ref) })
}
