package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// Trace finds the way of a request by the input, as Traffic does, but assumes, as Diff does, that a Service exists that is
// not in the input and that routes have as a parent.
func Trace(ctx context.Context, options *Options, request traffic.Request) (*report.Trace, error) {
	about := []string{cmp.Or(request.Service.Namespace, options.Namespace), cmp.Or(request.From, request.Service.Namespace, options.Namespace)}
	t, err := LoadTraffic(ctx, options, about...)
	if err != nil {
		return nil, err
	}
	if options.Cluster != nil {
		for _, namespace := range about {
			if err := NamespaceExists(t.world, namespace); err != nil {
				return nil, err
			}
		}
	}
	trace, err := t.trace(request, true)
	if err != nil {
		return nil, t.hinted(fromOwn(ctx, options, request, err))
	}
	denied, err := t.denied(trace.Deciding)
	if err != nil {
		return nil, err
	}
	trace.Notes = slices.Concat(trace.Notes, denied, t.Notes())
	return &report.Trace{TypeMeta: report.Typed(report.TraceKind), Trace: trace}, nil
}

// denied notes which routes of the input that decide are denied for another reason than what keeps them from the port: the trace shows
// what they would do.
func (t *Traffic) denied(deciding []string) (notes []string, _ error) {
	if len(deciding) == 0 || len(t.routes) == 0 {
		return nil, nil
	}
	j := newJudge(t.loaded)
	for _, r := range t.routes {
		name := report.RouteName{Kind: mesh.RouteKind(r.Key.Kind), Namespace: r.Key.Namespace, Name: r.Key.Name}
		if !slices.Contains(deciding, name.String()) || len(r.refusals) > 0 { // of a route that is refused, there is a note already
			continue
		}
		judged, err := j.judged(r)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(judged.Findings, func(f report.Finding) bool { return f.Effect == validate.Deny }); at >= 0 {
			notes = append(notes, fmt.Sprintf("%s is denied (%s), so it is not applied before that is corrected: run gammaguard check for details", name.String(), judged.Findings[at].Rule))
		}
	}
	return notes, nil
}

// fromOwn adds to the error about a request that is traced in the cluster alone that one from the current namespace can be
// traced: consumer routes there name the Service.
func fromOwn(ctx context.Context, options *Options, request traffic.Request, err error) error {
	own := options.Namespace
	if options.Cluster == nil || len(options.named()) > 0 || request.FromGateway || request.From != "" || own == "" || own == request.Service.Namespace {
		return err
	}
	request.From = own
	if _, failed := Trace(ctx, options, request); failed != nil {
		return err
	}
	return fmt.Errorf("%w; for clients in your namespace, add --from %s", err, own)
}
