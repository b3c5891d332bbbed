package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// operationDelete is what the previews of Services and routes look at in addition.
const operationDelete = "DELETE"

// services warns of what a change or the deletion of a Service does to routes. It admits
// every request.
type services struct {
	Options
	engine *validate.Engine
	turn   turn
}

// comparedPorts are the ports of a Service, of which so many are compared.
type comparedPorts []struct{}

// UnmarshalJSONFrom reads at most 1,000.
func (p *comparedPorts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return mesh.DecodeList(d, p, 1000)
}

// Services returns the handler that previews changes of Services.
func Services(options Options, engine *validate.Engine) http.Handler {
	options.share()
	s := &services{options, engine, newTurn()}
	h := options.handler("services", s.answer)
	h.concerns = func(r *review) bool {
		return (r.Operation == operationUpdate || r.Operation == operationDelete) && r.SubResource == ""
	}
	return h
}

func (s *services) answer(ctx context.Context, r *review, _ *objectError) answer {
	ctx, cancel := context.WithDeadline(ctx, r.deadline())
	defer cancel()
	change, err := s.change(ctx, r)
	if err != nil {
		s.trail.failed(r, err, "Failed to preview the change of a Service", "namespace", shortened(r.Namespace), "name", shortened(r.name()))
		return answer{warnings: []string{undetermined}, outcome: failed}
	}
	return answer{warnings: serviceWarnings(change), outcome: admitted}
}

// change returns nothing while the namespace is deleted: its routes go too.
func (s *services) change(ctx context.Context, r *review) (*validate.ServiceChange, error) {
	done, err := s.turn.take(ctx, r)
	if err != nil {
		return nil, err
	}
	defer done()
	old, err := decodeService(r.OldObject)
	if err != nil {
		return nil, err
	}
	var now *mesh.Service
	if r.Operation == operationUpdate {
		if now, err = decodeService(r.objectText()); err != nil {
			return nil, err
		}
	}
	if err := s.current(ctx, r); err != nil {
		return nil, err
	}
	change := s.engine.PreviewService(s.Reader, old, now)
	namespace, err := mesh.Known(mesh.FindNamespace(s.Reader, old.Key.Namespace))
	if err != nil || namespace != nil && namespace.Terminating() {
		return change, err
	}
	if err := change.AddParents(); err != nil {
		return nil, err
	}
	if change.BecomesExternalName() {
		err = s.eachRoute(ctx, r, old.Key.Namespace, func(route *mesh.Route) error {
			change.AddBackend(route, s.Mesh)
			return nil
		})
		if errors.Is(err, errEnough) {
			change.Own, err = slices.Insert(change.Own, 0, fmt.Sprintf("only the first %d routes of the namespace were read", mostRead)), nil
		}
	}
	return change, err
}

func decodeService(text []byte) (*mesh.Service, error) {
	var bounds struct {
		Spec struct {
			Ports comparedPorts `json:"ports"`
		} `json:"spec"`
	}
	var object mesh.ServiceObject
	for _, into := range []any{&bounds, &object} {
		if err := mesh.Decode(text, into); err != nil {
			return nil, fmt.Errorf("not a Service: %w", err)
		}
	}
	return object.Reduce(mesh.ServiceKind), nil
}

// serviceWarnings are the change in words.
func serviceWarnings(c *validate.ServiceChange) []string {
	var all []string
	for _, sentence := range c.Own {
		all = append(all, warning(sentence, ""))
	}
	switch c.Others {
	case 0:
	case 1:
		all = append(all, "1 route of another namespace has this Service as a parent")
	default:
		all = append(all, fmt.Sprintf("%d routes of other namespaces have this Service as a parent", c.Others))
	}
	return bounded(all)
}
