package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// operationDelete is what the previews of Services and routes look at in addition.
const operationDelete = "DELETE"

// services warns of what a change or the deletion of a Service does to routes. It admits every
// request, unless the configuration denies that a Service which routes use becomes of type
// ExternalName.
type services struct {
	Options
	engine *validate.Engine
}

// comparedPorts are the ports of a Service, of which so many are compared.
type comparedPorts []struct{}

// UnmarshalJSONFrom reads at most 1,000.
func (p *comparedPorts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return mesh.DecodeList(d, p, 1000)
}

// previewServices returns the handler that previews changes of Services.
func previewServices(options Options, engine *validate.Engine) http.Handler {
	options.share()
	s := &services{options, engine}
	return options.previewing("services", "Service", []string{operationCreate, operationUpdate, operationDelete}, s.preview)
}

// preview says nothing while the namespace is deleted: its routes go too.
func (s *services) preview(ctx context.Context, r *review) (_ answer, err error) {
	var old, now *mesh.Service
	if r.Operation != operationCreate {
		old, err = decodeService(r.OldObject)
	}
	if r.Operation != operationDelete && err == nil {
		now, err = decodeService(r.objectText())
	}
	if err != nil {
		return answer{}, err
	}
	if err := s.current(ctx, r); err != nil {
		return answer{}, err
	}
	change := s.engine.PreviewService(s.Reader, old, now)
	if old == nil && !change.BecomesExternalName() {
		return admit, nil
	}
	namespace, err := mesh.Known(mesh.FindNamespace(s.Reader, change.Key.Namespace))
	if err != nil || namespace != nil && namespace.Terminating() {
		return admit, err
	}
	if old == nil && !s.used(change.Key) { // as most are not: nothing needs to be read
		return admit, nil
	}
	if old != nil {
		change.Own = ineffectiveKeys(mesh.ServiceKind, r)
		err = change.AddParents()
	}
	if now == nil {
		change.AddSenders(s.Stored.RoutesTo(change.Key))
	}
	if err != nil || !change.BecomesExternalName() {
		return answer{warnings: serviceWarnings(change, nil), outcome: admitted}, err
	}
	return s.rename(ctx, r, change, namespace)
}

// used reports whether the caches know of a route with the Service as a parent or a backend.
func (s *services) used(key mesh.ServiceKey) bool {
	routes, err := mesh.AttachedRoutes(s.Reader, key, "")
	return err != nil || len(routes) > 0 || len(s.Stored.RoutesTo(key)) > 0
}

// rename answers where the Service becomes of type ExternalName: by live reads of the routes of its
// namespace, so that what a cache does not know yet is never a reason to deny.
func (s *services) rename(ctx context.Context, r *review, change *validate.ServiceChange, namespace *mesh.Namespace) (answer, error) {
	if s.engine.Action(validate.RuleServiceBecomesExternalName) != validate.Off {
		err := s.eachRoute(ctx, r, change.Key.Namespace, func(route *mesh.Route) error {
			change.AddUser(route)
			return nil
		})
		if errors.Is(err, errLimitReached) {
			change.Own, err = slices.Insert(change.Own, 0, fmt.Sprintf("only the first %d routes of the namespace were read", maxRoutes)), nil
		}
		if err != nil {
			return answer{}, err
		}
	}
	verdict := change.Decide(namespace, r.user())
	if verdict.Denied() && s.Live != nil {
		read := rationed{&s.Options, r}.Do(ctx, mesh.Read{Kind: mesh.ReadNamespace, Namespace: change.Key.Namespace})
		live, err := mesh.Known(read.Namespace, read.Err)
		if err != nil {
			return answer{}, err
		}
		verdict = change.Decide(live, r.user())
	}
	answered := answer{warnings: serviceWarnings(change, &verdict), audit: findingsAnnotations(&verdict), outcome: admitted}
	if verdict.Denied() {
		answered.status, answered.outcome = refusal(r.name(), schema.GroupKind{Kind: mesh.ServiceKind}, schema.GroupResource{Resource: "services"}, &verdict), denied
	}
	return answered, nil
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

// serviceWarnings are the change in words, after the findings of the verdict, if any.
func serviceWarnings(c *validate.ServiceChange, verdict *validate.Verdict) []string {
	var all []string
	for _, sentence := range c.Own {
		all = append(all, warning(sentence, ""))
	}
	if verdict != nil {
		all = append(all, warnings(verdict, nil)...)
	}
	for _, others := range []struct {
		count int
		as    string
	}{{c.Others, "a parent"}, {c.OtherSenders, "a backend"}} {
		switch others.count {
		case 0:
		case 1:
			all = append(all, "1 route of another namespace has this Service as "+others.as)
		default:
			all = append(all, fmt.Sprintf("%d routes of other namespaces have this Service as %s", others.count, others.as))
		}
	}
	return bounded(all)
}
