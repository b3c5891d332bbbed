package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Options say what is compared.
type Options struct {
	// Given is what the proxies were given.
	Given *proxies.Given
	// Table is what gammaguard says, Reader what that was read from, and Profile the mesh.
	Table   *traffic.Table
	Reader  mesh.Reader
	Profile *mesh.Profile
	// From is the namespace of the clients; empty for that of the proxy, or for all.
	From string
}

// Compare compares both sides. It is an error if what is compared cannot be read.
func Compare(ctx context.Context, options *Options) (*report.Verification, error) {
	c := &comparison{
		ctx: ctx, Options: options, out: &report.Verification{TypeMeta: report.Typed(report.VerificationKind), Format: string(options.Given.Format)},
		world: proxies.World{Reader: options.Reader, Profile: options.Profile},
	}
	keys := options.Table.Services()
	for _, key := range options.Given.Services() {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if err := c.service(key); err != nil {
			return nil, err
		}
	}
	c.out.Finish()
	if c.out.Summary.Ports == 0 {
		return nil, fmt.Errorf("there is nothing to compare: %s", strings.Join(append(c.out.Notes, "the input has no Service that the proxies were given routes for"), "; "))
	}
	return c.out, nil
}

// comparison is one run.
type comparison struct {
	*Options
	ctx   context.Context //nolint:containedctx // it is one run
	world proxies.World
	out   *report.Verification
}

// service compares a Service.
func (c *comparison) service(key mesh.ServiceKey) error {
	service, err := mesh.FindService(c.Reader, key)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
		c.out.Skip(key.String(), "the Service is not in the input, or you cannot read it")
		return nil
	case errors.Is(err, mesh.ErrNotFound):
		c.out.Skip(key.String(), "there is no such Service")
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", key, err)
	}
	names := c.classNames(key)
	for _, port := range service.Ports {
		if port.Protocol != mesh.TCP {
			continue
		}
		for _, from := range c.clients(key, names) {
			if err := c.port(service, port, from, names); err != nil {
				return fmt.Errorf("%s port %d: %w", key, port.Number, err)
			}
		}
	}
	return c.ctx.Err()
}

// clients returns the namespaces whose clients are compared.
func (c *comparison) clients(key mesh.ServiceKey, names classNames) []string {
	if from := cmp.Or(c.From, c.Given.Client); from != "" {
		return []string{from}
	}
	if !c.Given.Everywhere {
		return []string{key.Namespace}
	}
	all := slices.Concat(names.clients, c.Given.Clients(key))
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == key.Namespace })
	return append([]string{key.Namespace}, all...)
}

// port compares what the clients of a namespace meet at a port.
func (c *comparison) port(service *mesh.Service, port mesh.Port, from string, names classNames) error {
	template := traffic.Request{Service: service.Key, Port: port.Number, Protocol: port.Protocol, From: from}
	ours, err := c.Table.ClientsOf(template)
	if err != nil {
		return err
	}
	place := fmt.Sprintf("%s port %d", service.Key, port.Number)
	switch ours.Kind() {
	case "", mesh.HTTPRoute, mesh.GRPCRoute:
	default:
		c.out.Skip(place, fmt.Sprintf("a %s owns it, and only requests of HTTP and gRPC are compared", ours.Kind()))
		return nil
	}
	theirs, err := c.Given.At(c.world, service, port, from)
	switch {
	case err != nil:
		return err
	case theirs == nil && !c.Given.Everywhere:
		c.out.Skip(place, "the proxies were given nothing for it")
		return nil
	case theirs == nil && ours.Kind() == "":
		return nil // no routes on either side
	case theirs == nil:
		theirs = proxies.Direct(service, port)
	}
	template.Protocol = ""
	requests, complete := probes(template, slices.Concat(ours.Conditions(), theirs.Conditions))
	if !complete {
		c.out.Note("%s port %d has too many matches to look at all their combinations: there may be other differences", service.Key, port.Number)
	}
	at := &portComparison{comparison: c, ours: ours, theirs: theirs, names: names, result: c.out.Port(service.Key, port.Number, from), rows: map[string]*report.VerifiedClass{}}
	for i := range requests {
		if theirs.OnlyGRPC && !requests[i].GRPC() {
			continue
		}
		if err := at.request(&requests[i]); err != nil {
			return err
		}
		if i%1000 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
	}
	return nil
}

// portComparison compares the requests of the clients of a namespace to a port.
type portComparison struct {
	*comparison
	ours   *traffic.Clients
	theirs *proxies.Port
	names  classNames
	result *report.VerifiedPort
	rows   map[string]*report.VerifiedClass
}

// request compares what both sides say of a request.
func (p *portComparison) request(r *traffic.Request) error {
	chosen, outcome, err := p.ours.Decide(r)
	if err != nil {
		return err
	}
	place := "no match"
	if chosen != nil {
		place = chosen.String()
	}
	ours := proxies.Ours(&outcome, r)
	theirs, err := p.theirs.Answer(r)
	if err != nil { // of requests that hang on what is not known; the others are compared
		p.out.Note("%s port %d: some requests are not compared: %v", r.Service, r.Port, err)
		return nil
	}
	p.result.Count(place)
	differs := ours.Differences(theirs)
	if len(differs) == 0 {
		return nil
	}
	key := place + "\x00" + strings.Join(differs, " ") + "\x00" + strings.Join(theirs.Backends, " ")
	if row := p.rows[key]; row != nil {
		row.Requests++
		return nil
	}
	hidden := hide(theirs, ours)
	row := &report.VerifiedClass{
		From: r.From, Class: p.names.of(r, chosen), Differs: differs, Ours: ours.String(), Theirs: hidden.String(),
		Chosen: chosen, Example: example(r, p.ours.Conditions()), Requests: 1,
	}
	p.rows[key] = row
	p.result.Differences = append(p.result.Differences, row)
	return nil
}
