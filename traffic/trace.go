package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Trace is the way of one request: the match that decides, what becomes of the
// request, and the rules that do not decide, with the reason.
type Trace struct {
	Request Request `json:"request"`
	// Scope says whose routes apply.
	Scope string `json:"scope"`
	// RouteKind is the kind of route that holds the port; empty where none does.
	RouteKind mesh.RouteKind `json:"routeKind,omitempty"`
	// Chosen is the match that decides; nil where none does.
	Chosen *Place `json:"chosen,omitempty"`
	// Deciding are the routes without which the outcome may be another one: that of the match, or where none decides, those that hold the port.
	Deciding []string `json:"-"`
	Outcome  Outcome  `json:"outcome"`
	// Notes say what the outcome depends on, and caveats.
	Notes []string `json:"notes,omitempty"`
	// GatewayRoutes are the routes on Gateways that send the request, if a Gateway does.
	GatewayRoutes []GatewayRoute `json:"gatewayRoutes,omitempty"`
	NotTaken      []NearMiss     `json:"notTaken,omitempty"`
}

// Place is a rule of a route, and one of its matches.
type Place struct {
	Route string `json:"route"`
	Rule  int    `json:"rule"`
	// Name is the rule's name, where it has one.
	Name  string `json:"name,omitempty"`
	Match int    `json:"match"`
}

// place returns the place of the match.
func (e *entry) place() *Place {
	return &Place{e.route.String(), e.rule, e.route.rules[e.rule].name, e.at}
}

// NearMiss is a route, or a rule of it, that does not decide.
type NearMiss struct {
	Route string `json:"route"`
	// Rule is the index of the rule; nil for the route as a whole.
	Rule   *int   `json:"rule,omitempty"`
	Reason string `json:"reason"`
}

// Trace finds the way of a request. It is an error if the Service or the port does
// not exist. A Service that is not in the input is assumed to have the ports that routes name, if any has it as a parent.
func (t *Table) Trace(request Request) (*Trace, error) {
	if request.FromGateway {
		return t.fromGateway(&request)
	}
	pr, err := t.portRoutesOf(&request)
	if err != nil {
		return nil, err
	}
	chosen := pr.decide(&request)
	trace := &Trace{Request: request, Scope: t.scopeText(pr, request.From), RouteKind: pr.kind}
	switch {
	case chosen != nil:
		trace.Chosen = chosen.place()
		trace.Deciding = []string{trace.Chosen.Route}
	case pr.owner != nil:
		for _, r := range pr.owner.Routes {
			trace.Deciding = append(trace.Deciding, r.String())
		}
	}
	var known caveats
	if trace.Outcome, known, err = t.outcomeOf(pr, chosen); err != nil {
		return nil, err
	}
	trace.Notes = append(trace.Notes, slices.Concat(pr.notes, t.unknowns(pr), t.unread(pr, request.From), t.stays(pr, request.From))...)
	if pr.onlyGRPC(&request, chosen) {
		trace.Notes = append(trace.Notes, "GRPCRoutes match gRPC requests only, and the content-type of this request is not application/grpc; to trace a gRPC request, use --grpc SERVICE/METHOD")
	}
	if chosen != nil && chosen.byPath && !request.GRPC() {
		trace.Notes = append(trace.Notes, t.engine.Policy().Mesh.Title+" matches GRPCRoutes by path, and so this request, which is not gRPC")
	}
	trace.Notes = append(trace.Notes, slices.Concat(known.rule, known.backends)...)
	doubts, err := t.doubts(pr, &request, chosen)
	if err != nil {
		return nil, err
	}
	trace.Notes = append(trace.Notes, doubts...)
	ends, err := t.ends(pr, request.From, &trace.Outcome)
	if err != nil {
		return nil, err
	}
	trace.Notes = append(trace.Notes, ends...)
	if pr.kind != "" {
		gap, err := t.engine.Unenrolled(t.reader, pr.service.Key, pr.scope)
		if err != nil {
			return nil, err
		}
		if gap != nil {
			trace.Notes = append(trace.Notes, gap.Problem+"; "+gap.Remedy+" ("+validate.RuleServiceNotEnrolled+")")
		}
	}
	trace.Notes = append(trace.Notes, t.unfit(pr)...)
	trace.Notes = compact(trace.Notes)
	trace.NotTaken = t.nearMisses(pr, &request, chosen)
	return trace, nil
}

// unfit notes that the application protocol of the port is one that the routes that hold it do not support.
func (t *Table) unfit(pr *portRoutes) []string {
	protocol := t.engine.Policy().Mesh.Unfit(pr.kind, &pr.port)
	if protocol == "" || t.engine.Action(validate.RuleParentAppProtocol) == validate.Off {
		return nil
	}
	return []string{fmt.Sprintf("%s does not support appProtocol %s (port %d) of %s: the mesh may not apply it (%s)",
		pr.kind, protocol, pr.port.Number, pr.service.Key, validate.RuleParentAppProtocol)}
}

// onlyGRPC reports whether no match decides the request for the reason that it is not a gRPC one.
func (pr *portRoutes) onlyGRPC(r *Request, chosen *entry) bool {
	return chosen == nil && !r.GRPC() && pr.onlyTakesGRPC()
}

// onlyTakesGRPC reports whether no match can decide a request that is not a gRPC one.
func (pr *portRoutes) onlyTakesGRPC() bool {
	return pr.kind == mesh.GRPCRoute && !slices.ContainsFunc(pr.entries, func(e entry) bool { return e.byPath })
}

// compact drops texts that stand before, and those of which another one says more, and makes texts of the others that only
// show: they name objects, and what stands in them.
func compact(texts []string) []string {
	var out []string
	seen := set{}
	for _, text := range texts {
		if what, is := strings.CutSuffix(text, toExist); is && slices.Contains(texts, what+toHavePorts) {
			continue
		}
		text = printable.Text(text)
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

// portRoutesOf returns the routes that a request meets, and notes the number of its port.
func (t *Table) portRoutesOf(r *Request) (*portRoutes, error) {
	var notes []string
	service, err := mesh.FindService(t.reader, r.Service)
	if errors.Is(err, mesh.ErrUnknown) {
		if assumed := t.assumedFor(r); assumed != nil {
			service, err, notes = assumed, nil, []string{t.noteAssumed(r.Service)}
		}
	}
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		return nil, fmt.Errorf("%s does not exist", r.Service)
	case errors.Is(err, mesh.ErrUnknown):
		return nil, errors.New(t.lacks(r.Service.String(), readOf(r.Service)))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.Service, err)
	}
	port, err := r.find(service)
	if err != nil {
		if notes != nil {
			return nil, fmt.Errorf("%w, as routes name them, since %s", err, t.lacks("the Service", readOf(r.Service)))
		}
		return nil, err
	}
	pr, err := t.portRoutes(service, port, r.From)
	if err == nil {
		pr.notes = notes
	}
	return pr, err
}

// find returns the port of the Service that the request is sent to, and notes its
// number.
func (r *Request) find(service *mesh.Service) (mesh.Port, error) {
	at := -1
	for i, p := range service.Ports {
		sought := p.Number == r.Port || r.Port == 0 && (r.PortName == "" || p.Name == r.PortName)
		if sought && (p.Protocol == r.Protocol || r.Protocol == "" && (at < 0 || p.Protocol == mesh.TCP)) {
			at = i
		}
		if r.Port == 0 && r.PortName == "" && p.Number != service.Ports[0].Number {
			return mesh.Port{}, fmt.Errorf("%s has several ports: specify one of %s, such as %s:%d", r.Service, portList(service), strings.ToLower(r.Service.Kind)+"/"+r.Service.Name+"."+r.Service.Namespace, service.Ports[0].Number)
		}
	}
	if at < 0 {
		wanted := strconv.Itoa(int(r.Port))
		if r.Port == 0 {
			wanted = r.PortName
		}
		switch {
		case service.Type == mesh.ExternalName && r.Port != 0:
			return mesh.Port{Number: r.Port, Protocol: cmp.Or(r.Protocol, mesh.TCP)}, nil
		case service.Type == mesh.ExternalName && wanted == "":
			return mesh.Port{}, fmt.Errorf("%s is of type ExternalName and lists no port: specify one", r.Service)
		case len(service.Ports) == 0:
			return mesh.Port{}, fmt.Errorf("%s has no ports", r.Service)
		}
		return mesh.Port{}, fmt.Errorf("%s has no port %s: its ports are %s", r.Service, wanted, portList(service))
	}
	if r.Port = service.Ports[at].Number; r.Port != 0 { // else the Service is assumed
		r.PortName = ""
	}
	return service.Ports[at], nil
}

// portList reads "80 (http), 53 (dns)".
func portList(service *mesh.Service) string {
	texts := make([]string, len(service.Ports))
	for i, port := range service.Ports {
		texts[i] = port.String()
	}
	return strings.Join(texts, ", ")
}

// scopeText says which routes were looked for and found.
func (t *Table) scopeText(pr *portRoutes, from string) string {
	asked := mesh.ScopeOf(from, pr.service.Key)
	switch {
	case asked == pr.scope:
		return pr.scope.String()
	case len(t.unseen(pr, from)) > 0:
		return fmt.Sprintf("%s: %s; %s", asked, validate.Unknown, pr.scope)
	}
	return fmt.Sprintf("%s: none; %s", asked, pr.scope)
}

// unseen returns the kinds of which routes in the namespace cannot be read, and could take the port.
func (t *Table) unseen(pr *portRoutes, namespace string) (kinds []string) {
	if t.options.Unread == nil {
		return nil
	}
	for _, kind := range t.options.Unread(namespace) {
		if kind.Transport() == pr.port.Protocol {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

// unread notes the namespaces whose routes the outcome depends on and cannot be read.
func (t *Table) unread(pr *portRoutes, from string) (notes []string) {
	namespaces := []string{from}
	if from != pr.service.Key.Namespace && pr.scope.Role() == mesh.Producer {
		namespaces = append(namespaces, pr.service.Key.Namespace)
	}
	for _, namespace := range namespaces {
		if kinds := t.unseen(pr, namespace); len(kinds) > 0 {
			notes = append(notes, "routes in namespace "+namespace+" ("+strings.Join(kinds, ", ")+") cannot be read: they are assumed not to exist")
		}
	}
	return notes
}

// stays notes the stored routes that could hold the port, or share it, and lack the grant now, or are refused.
func (t *Table) stays(pr *portRoutes, from string) (notes []string) {
	if t.options.Stored == nil {
		return nil
	}
	for _, r := range t.bound[pr.service.Key] {
		scope := mesh.ScopeOf(r.Namespace, pr.service.Key)
		if r.Kind.Transport() != pr.port.Protocol || scope != pr.scope && scope != mesh.ScopeOf(from, pr.service.Key) || !t.options.Stored(&r.AttachedRoute) {
			continue
		}
		for _, b := range pr.bindings[&r.AttachedRoute] {
			if note := b.Stays(); note != "" && (pr.isAt(&b) || b.At.Port == 0 && !b.NamesOther(pr.port.Number)) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// ends notes the routes on backends, which do not apply: a backend is the end of
// the way (GEP-1294, Multiple routes for a Service). It also notes where the requests leave the
// Service by another of its ports.
func (t *Table) ends(pr *portRoutes, from string, o *Outcome) ([]string, error) {
	var notes []string
	for i := range o.Shares {
		ref := &o.Shares[i].ref
		if o.Shares[i].Backend == "" || ref.Name == "" || !ref.IsService(t.engine.Policy().Mesh) {
			continue
		}
		key := ref.Service(pr.routeNamespace())
		if key == pr.service.Key && ref.Port != pr.port.Number && pr.port.Number != 0 {
			notes = append(notes, fmt.Sprintf("requests to port %s leave by port %d of the same Service", pr.port, ref.Port))
		}
		if key == pr.service.Key || len(t.bound[key]) == 0 {
			continue
		}
		port := mesh.Port{Number: ref.Port, Protocol: pr.port.Protocol}
		service, err := t.service(key, port)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		held, err := t.portRoutes(service, port, from)
		if err != nil {
			return nil, err
		}
		if held.kind != "" {
			notes = append(notes, fmt.Sprintf("the %ss on %s do not apply to these requests: a backend is reached without its own routes", held.kind, key))
		}
	}
	return notes, nil
}

// routeNamespace returns the namespace of the routes that hold the port.
func (pr *portRoutes) routeNamespace() string {
	if pr.scope.Role() == mesh.Consumer {
		return pr.scope.ConsumerNamespace
	}
	return pr.service.Key.Namespace
}
