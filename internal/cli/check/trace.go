package check

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/traffic"
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
	trace.Notes = append(trace.Notes, t.Notes()...)
	return &report.Trace{TypeMeta: report.Typed(report.TraceKind), Trace: trace}, nil
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
