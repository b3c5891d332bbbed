package traffic

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// String writes the trace for people.
func (t *Trace) String() string {
	var out strings.Builder
	switch {
	case t.Chosen != nil:
		printable.Fprintf(&out, "%s", t.Chosen)
	case t.Request.FromGateway:
		printable.Fprintf(&out, "no mesh route applies")
	case t.RouteKind != "":
		printable.Fprintf(&out, "no rule of any %s matches", t.RouteKind)
	default:
		printable.Fprintf(&out, "no route on port %d", t.Request.Port)
	}
	printable.Fprintf(&out, "  (%s)\n", t.Scope)
	prefix := mesh.ServiceKind + " " + t.Request.Service.Namespace + "/"
	for i, line := range t.outcomeLines() {
		arrow := ""
		if i == 0 {
			arrow = "→ "
		}
		printable.Fprintf(&out, "  %s%s\n", arrow, strings.ReplaceAll(line, prefix, mesh.ServiceKind+" "))
	}
	for i := range t.GatewayRoutes {
		printable.Fprintf(&out, "gateway route: %s\n", &t.GatewayRoutes[i])
	}
	for _, note := range t.Notes {
		printable.Fprintf(&out, "note: %s\n", note)
	}
	for i := range t.NotTaken {
		printable.Fprintf(&out, "not taken: %s\n", &t.NotTaken[i])
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

// MarshalJSON writes the Service as one reads it, "Service shop/cart", and adds the
// request as the arguments of gammaguard trace.
func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	return json.Marshal(struct {
		Service string `json:"service"`
		plain
		Arguments string `json:"arguments"`
	}{r.Service.String(), plain(r), r.String()})
}

// String writes the request as the arguments of gammaguard trace, for a POSIX shell:
// nothing in it is run.
func (r *Request) String() string {
	name := r.Service.Name + "." + r.Service.Namespace
	if r.Port != 0 {
		name += fmt.Sprintf(":%d", r.Port)
	} else if r.PortName != "" {
		name += ":" + r.PortName
	}
	target := strings.ToLower(r.Service.Kind) + "/" + printable.Shell(name)
	if r.Protocol == mesh.UDP {
		target += "/" + string(mesh.UDP)
	}
	parts := []string{target, "--from " + printable.Shell(r.From)}
	if r.FromGateway {
		parts[1] = "--from-gateway"
	}
	calls := r.calls()
	if calls {
		parts = append(parts, "--grpc "+grpcArgument(r.Path))
	} else {
		if r.Method != "" {
			parts = append(parts, "--method "+printable.Shell(r.Method))
		}
		if path := r.pathAndQuery(); path != "" && path != "/" {
			parts = append(parts, "--path "+printable.Shell(path))
		}
	}
	if r.Host != "" {
		parts = append(parts, "-H "+printable.Shell("host: "+r.Host))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !calls || name != contentType || r.Headers[name] != grpcContent {
			parts = append(parts, "-H "+printable.Shell(name+": "+r.Headers[name]))
		}
	}
	if r.ServerName != "" {
		parts = append(parts, "--server-name "+printable.Shell(r.ServerName))
	}
	return strings.Join(parts, " ")
}

// calls reports whether the request is one that --grpc makes, but for its headers.
func (r *Request) calls() bool {
	service, method, ok := r.call()
	return ok && service != "" && method != "" && !strings.Contains(method, "/") && r.method() == "POST" && len(r.Query) == 0
}

// grpcArgument returns the path of a call as SERVICE/METHOD, for a shell.
func grpcArgument(path string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return printable.Shell(service) + "/" + printable.Shell(method)
}

func (r *Request) pathAndQuery() string {
	query := url.Values{}
	for name, value := range r.Query {
		query.Set(name, value)
	}
	if len(query) == 0 {
		return r.Path
	}
	return r.path() + "?" + query.Encode()
}
