package traffic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// String writes the trace for people.
func (t *Trace) String() string {
	var out strings.Builder
	switch {
	case t.Chosen != nil:
		out.WriteString(t.Chosen.String())
	case t.Kind != "":
		fmt.Fprintf(&out, "no rule of any %s matches", t.Kind)
	default:
		fmt.Fprintf(&out, "no route on port %d", t.Request.Port)
	}
	fmt.Fprintf(&out, "  (%s)\n", t.Scope)
	prefix := mesh.ServiceKind + " " + t.Request.Service.Namespace + "/"
	for i, line := range t.outcomeLines() {
		arrow := ""
		if i == 0 {
			arrow = "→ "
		}
		fmt.Fprintf(&out, "  %s%s\n", arrow, strings.ReplaceAll(line, prefix, mesh.ServiceKind+" "))
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	for i := range t.NotTaken {
		fmt.Fprintf(&out, "not taken: %s\n", &t.NotTaken[i])
	}
	return out.String()
}

// outcomeLines writes where the request goes, then each effect.
func (t *Trace) outcomeLines() []string {
	o := &t.Outcome
	if o.Redirect != nil {
		return append([]string{o.Redirect.String(), "Location: " + o.Redirect.Location(&t.Request)}, o.lines()...)
	}
	destinations := Outcome{Shares: o.Shares}
	return append([]string{destinations.Text("")}, o.lines()...)
}

// String names the place: "HTTPRoute shop/cart rule[1] match[0]".
func (p *Place) String() string {
	if p.Name != "" {
		return fmt.Sprintf("%s rule[%d] %q match[%d]", p.Route, p.Rule, p.Name, p.Match)
	}
	return fmt.Sprintf("%s rule[%d] match[%d]", p.Route, p.Rule, p.Match)
}

// String reads "HTTPRoute shop/all rule[0]: PathPrefix / is shorter".
func (n *NearMiss) String() string {
	if n.Rule == nil {
		return n.Route + ": " + n.Reason
	}
	return fmt.Sprintf("%s rule[%d]: %s", n.Route, *n.Rule, n.Reason)
}

// MarshalJSON writes the Service as one reads it: "Service shop/cart".
func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	return json.Marshal(struct {
		Service string `json:"service"`
		plain
	}{r.Service.String(), plain(r)})
}
