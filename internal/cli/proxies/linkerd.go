package proxies

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Words of Linkerd's protocol, by their numbers (http_types.proto).
var (
	linkerdMethods = []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "HEAD", "TRACE"}
	linkerdSchemes = []string{"http", "https"}
)

func readLinkerd(data []byte) (*Given, error) {
	var policy linkerd
	if err := json.Unmarshal(data, &policy); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s: want another type than %s", wrong.Field, wrong.Value)
		}
		return nil, syntaxError(data, err)
	}
	of := policy.Metadata.Kind.Resource
	if of == nil || of.Kind != mesh.ServiceKind || of.Name == "" || of.Namespace == "" || of.Port == 0 {
		return nil, errors.New("metadata: want the policy of a Service port: linkerd diagnostics policy -n NAMESPACE svc/NAME PORT -o json")
	}
	p := &policy.Protocol.Kind
	if p.Detect == nil && p.HTTP1 == nil && p.HTTP2 == nil && p.GRPC == nil {
		return nil, errors.New("protocol: want that of requests: the port is opaque, or of TLS, so proxies match connections")
	}
	return &Given{Format: LinkerdPolicy, Mesh: mesh.Linkerd, source: &policy}, nil
}

func (l *linkerd) key() mesh.ServiceKey {
	of := l.Metadata.Kind.Resource
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: of.Namespace, Name: of.Name}
}

func (l *linkerd) services() []mesh.ServiceKey { return []mesh.ServiceKey{l.key()} }

func (*linkerd) clients(mesh.ServiceKey) []string { return nil }

func (l *linkerd) at(world World, service *mesh.Service, port mesh.Port, _ string) (*Port, error) {
	if l.key() != service.Key || l.Metadata.Kind.Resource.Port != int64(port.Number) {
		return nil, nil //nolint:nilnil // it is of another port
	}
	p := &l.Protocol.Kind
	routes := p.GRPC
	switch {
	case p.Detect != nil:
		routes = &p.Detect.HTTP1
	case p.HTTP1 != nil:
		routes = p.HTTP1
	case p.HTTP2 != nil:
		routes = p.HTTP2
	}
	var all ranked
	for i := range routes.Routes {
		for j := range routes.Routes[i].Rules {
			if err := routes.Routes[i].add(&all, world, j); err != nil {
				return nil, fmt.Errorf("routes[%d].rules[%d]: %w", i, j, err)
			}
		}
	}
	all.sort()
	return &Port{Conditions: all.conditions(), OnlyGRPC: p.GRPC != nil, Answer: func(r *traffic.Request) (*Answer, error) {
		if m := all.find(r); m != nil {
			return m.answer(r, m.prefix), nil
		}
		return answerOf("404"), nil
	}}, nil
}

// add adds the matches of a rule.
func (route *linkerdRoute) add(all *ranked, world World, rule int) error {
	r := &route.Rules[rule]
	a, status, err := r.action(world)
	if err != nil {
		return err
	}
	answer := a.answer
	if status != "" {
		answer = func(*traffic.Request, string) *Answer { return answerOf(status) }
	}
	matches := r.Matches
	if len(matches) == 0 {
		matches = make([]linkerdMatch, 1)
	}
	hosts, err := route.hosts()
	if err != nil {
		return err
	}
	for i := range matches {
		conditions, err := matches[i].conditions()
		if err != nil {
			return fmt.Errorf("matches[%d]: %w", i, err)
		}
		for _, host := range hosts {
			if err := all.add(append(conditions[:len(conditions):len(conditions)], host...), world.Profile.RanksExpressionsLast(), answer); err != nil {
				return fmt.Errorf("matches[%d]: %w", i, err)
			}
		}
	}
	return nil
}

// hosts returns the condition of each host, or one without a condition.
func (route *linkerdRoute) hosts() ([][]mesh.Condition, error) {
	if len(route.Hosts) == 0 {
		return [][]mesh.Condition{nil}, nil
	}
	var out [][]mesh.Condition
	for i := range route.Hosts {
		c := mesh.Condition{Subject: mesh.Subject{Dimension: mesh.HostDimension}, Type: mesh.Exact, Text: strings.ToLower(route.Hosts[i].Match.Exact)}
		if suffix := route.Hosts[i].Match.Suffix; suffix != nil {
			c.Type, c.Text = mesh.Subdomain, ""
			for _, label := range suffix.ReverseLabels {
				c.Text = "." + strings.ToLower(label) + c.Text
			}
		}
		if c.Text == "" {
			return nil, fmt.Errorf("hosts[%d]: want exact or suffix", i)
		}
		out = append(out, []mesh.Condition{c})
	}
	return out, nil
}

// conditions returns those of a match.
func (m *linkerdMatch) conditions() (out []mesh.Condition, err error) {
	add := func(dimension mesh.Dimension, name string, exact, regex *string) {
		c := mesh.Condition{Subject: mesh.Subject{Dimension: dimension, Name: name}, Type: mesh.Exact}
		switch {
		case regex != nil:
			c.Type, c.Text = mesh.RegularExpression, *regex
		case exact != nil:
			c.Text = *exact
		default:
			err = fmt.Errorf("a match of the %s: want exact or regex", dimension)
		}
		out = append(out, c)
	}
	if m.Path != nil {
		if prefix := m.Path.Kind.Prefix; prefix == nil {
			add(mesh.PathDimension, "", m.Path.Kind.Exact, m.Path.Kind.Regex)
		} else if text := strings.TrimRight(*prefix, "/"); text != "" {
			out = append(out, mesh.Condition{Subject: mesh.Subject{Dimension: mesh.PathDimension}, Type: mesh.PathPrefix, Text: text})
		}
	}
	if m.Method != nil {
		word, known := m.Method.Type.word(linkerdMethods)
		if !known {
			return nil, errors.New("method: not one that gammaguard knows")
		}
		add(mesh.MethodDimension, "", &word, nil)
	}
	if m.RPC != nil {
		if m.RPC.Service != "" {
			add(mesh.GRPCServiceDimension, "", &m.RPC.Service, nil)
		}
		if m.RPC.Method != "" {
			add(mesh.GRPCMethodDimension, "", &m.RPC.Method, nil)
		}
	}
	for _, h := range m.Headers {
		var exact *string
		if h.Value.Exact != nil {
			text := string(*h.Value.Exact)
			exact = &text
		}
		add(mesh.HeaderDimension, strings.ToLower(h.Name), exact, h.Value.Regex)
	}
	for _, q := range m.QueryParams {
		add(mesh.QueryParamDimension, q.Name, q.Value.Exact, q.Value.Regex)
	}
	return out, err
}

// word returns the word, and whether it is known.
func (w *linkerdWord) word(words []string) (string, bool) {
	switch {
	case w.Registered == nil:
		return w.Unregistered, w.Unregistered != ""
	case *w.Registered < 0 || *w.Registered >= len(words):
		return "", false
	}
	return words[*w.Registered], true
}

// action returns what the rule does, or the status that it answers.
func (r *linkerdRule) action(world World) (a *action, status string, err error) {
	a = &action{}
	if timeout := cmp.Or(r.Timeouts.Request, r.RequestTimeout); timeout != nil {
		a.timeout = bound(time.Duration(timeout.Seconds)*time.Second + time.Duration(timeout.Nanos))
	}
	if status, err = apply(a, r.Filters); status != "" || err != nil {
		return a, status, err
	}
	add := func(b *linkerdBackend, weight int64) error {
		of := &action{}
		status, err := apply(of, b.Filters)
		if err != nil {
			return err
		}
		if weight < 0 || weight > maxWeight {
			return fmt.Errorf("weight: want at most %d", maxWeight)
		}
		if of.redirect != nil {
			return errors.New("a redirect of one backend is none that gammaguard compares")
		}
		a.shares = append(a.shares, actionShare{backend: cmp.Or(status, b.name(world)), headers: of.headers, weight: weight})
		return nil
	}
	switch kind := &r.Backends.Kind; {
	case kind.RandomAvailable != nil:
		for i := range kind.RandomAvailable.Backends {
			b := &kind.RandomAvailable.Backends[i]
			if err := add(&b.Backend, b.Weight); err != nil {
				return nil, "", fmt.Errorf("backends[%d]: %w", i, err)
			}
		}
	case kind.FirstAvailable != nil && len(kind.FirstAvailable.Backends) > 0:
		if err := add(&kind.FirstAvailable.Backends[0], 1); err != nil {
			return nil, "", fmt.Errorf("backends[0]: %w", err)
		}
	}
	return a, "", nil
}

// apply adds what filters do, or returns the status that one of them answers.
func apply(a *action, filters []linkerdFilter) (status string, err error) {
	for i := range filters {
		f := &filters[i].Kind
		a.modify(&mesh.Filter{RequestHeaderModifier: f.RequestHeaderModifier.modifier(), ResponseHeaderModifier: f.ResponseHeaderModifier.modifier()})
		switch to := f.Redirect; {
		case f.FailureInjector != nil:
			return strconv.Itoa(cmp.Or(f.FailureInjector.Status, 500)), nil
		case to != nil:
			a.redirect = &mesh.RequestRedirect{Hostname: to.Host, Port: to.Port, StatusCode: to.Status}
			if to.Scheme != nil {
				word, known := to.Scheme.Type.word(linkerdSchemes)
				if !known {
					return "", fmt.Errorf("filters[%d].redirect.scheme: not one that gammaguard knows", i)
				}
				a.redirect.Scheme = word
			}
			if to.Path != nil {
				a.redirect.Path = &mesh.PathModifier{ReplaceFullPath: to.Path.Replace.Full, ReplacePrefixMatch: to.Path.Replace.Prefix}
			}
		}
	}
	return "", nil
}

// modifier returns the changes in the words of package mesh.
func (h *linkerdHeaders) modifier() *mesh.HeaderModifier {
	if h == nil {
		return nil
	}
	out := &mesh.HeaderModifier{Remove: h.Remove}
	for _, header := range h.Set.Headers {
		out.Set = append(out.Set, mesh.Header{Name: header.Name, Value: string(header.Value)})
	}
	for _, header := range h.Add.Headers {
		out.Add = append(out.Add, mesh.Header{Name: header.Name, Value: string(header.Value)})
	}
	return out
}

// name names the backend, or the status where there is none: by its metadata, or else by the address that it is
// looked up by.
func (b *linkerdBackend) name(world World) string {
	if b.Backend == nil {
		return "500"
	}
	if of := b.Backend.Metadata.Kind.Resource; of != nil && of.Kind == mesh.ServiceKind && of.Port != 0 {
		return backend(of.Namespace, of.Name, of.Port)
	}
	if b.Backend.Kind.Balancer == nil {
		return "500"
	}
	path := b.Backend.Kind.Balancer.Discovery.Kind.Dst.Path
	host, number, _ := strings.Cut(path, ":")
	name, rest, _ := strings.Cut(host, ".")
	namespace, _, ok := strings.Cut(rest, ".svc.")
	port, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return "address " + path
	}
	return world.orFails(namespace, name, port)
}
