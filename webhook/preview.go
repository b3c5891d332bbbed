package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// RouteReader reads a whole route as it is now. The error is mesh.ErrNotFound if it does
// not exist.
type RouteReader interface {
	RouteObject(ctx context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error)
}

const (
	// previewLines is how many warnings a preview takes.
	previewLines = 3
	// previewRoutes is how many other routes it reads.
	previewRoutes = 32
	// previewMatches is how many matches it compares, once for each port of their
	// Services, and previewWork how many combinations of these.
	previewMatches = 2000
	previewWork    = 250_000
)

// preview says what a route changes in the traffic, on a server-side dry run. One is worked
// out at a time.
type preview struct {
	Options
	engine *validate.Engine
	busy   sync.Mutex
}

// errTooMany: to compare all routes of the Services would take too long.
var errTooMany = errors.New("there are too many routes on the same Services")

// warnings returns a line for each change in the traffic, or the reason why they are not known.
func (p *preview) warnings(ctx context.Context, r *review) []string {
	if !p.busy.TryLock() {
		return []string{"traffic preview: another one is in progress; try again, or run gammaguard diff"}
	}
	defer p.busy.Unlock()
	ctx, cancel := context.WithDeadline(ctx, r.deadline())
	defer cancel()
	difference, err := p.compare(ctx, r)
	if err != nil {
		return []string{warning(fmt.Sprintf("traffic preview: %v; run gammaguard diff", err), "")}
	}
	lines := difference.Brief(previewLines)
	for i := range lines {
		lines[i] = warning("traffic preview: "+lines[i], "")
	}
	return lines
}

// compare compares the traffic before the request with that after it.
func (p *preview) compare(ctx context.Context, r *review) (*traffic.Difference, error) {
	if p.Sync != nil && p.Sync.Stale() != nil {
		return nil, p.Sync.Stale()
	}
	own := r.Object.Attached(p.engine.Policy().Mesh)
	own.Name = cmp.Or(own.Name, r.name())
	var old traffic.Routes
	if !absent(r.OldObject) {
		if err := old.Add(own, r.OldObject); err != nil {
			return nil, err
		}
	}
	others, err := p.others(own, p.parents(own, old))
	if err != nil {
		return nil, err
	}
	var both traffic.Routes
	for _, other := range others {
		if err := p.spend(ctx, r, string(other.Kind), 1); err != nil {
			return nil, err
		}
		text, err := p.Preview.RouteObject(ctx, other.Kind, other.Namespace, other.Name)
		if errors.Is(err, mesh.ErrNotFound) {
			continue
		}
		if err == nil {
			err = both.Add(other, text)
		}
		if err != nil {
			return nil, err
		}
	}
	now := traffic.Route{AttachedRoute: own, Spec: &r.Object.Spec}
	return traffic.DiffWithin(p.table(append(old, both...)), p.table(append(both, now)), previewWork)
}

// parents returns the Services that the route of the request has as parents, or had.
func (p *preview) parents(own *mesh.AttachedRoute, old traffic.Routes) (keys []mesh.ServiceKey) {
	refs := slices.Clone(own.Parents)
	for i := range old {
		refs = append(refs, old[i].Spec.ParentRefs...)
	}
	for i := range refs {
		if key := refs[i].Service(own.Namespace); refs[i].Class(p.engine.Policy().Mesh) == mesh.MeshParent && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// others returns the other routes that the requests of the route's clients can meet: those
// of its scope, and producer routes.
func (p *preview) others(own *mesh.AttachedRoute, keys []mesh.ServiceKey) ([]*mesh.AttachedRoute, error) {
	var others []*mesh.AttachedRoute
	matches := 0
	for _, key := range keys {
		ports := 1
		if service, err := mesh.FindService(p.Reader, key); err == nil {
			ports = len(service.Ports)
		}
		matches += ports * len(own.Matches)
		for _, namespace := range slices.Compact([]string{own.Namespace, key.Namespace}) {
			routes, err := mesh.AttachedRoutes(p.Reader, key, namespace)
			if err != nil {
				return nil, err
			}
			for _, route := range routes {
				if route.Same(own) {
					continue
				}
				matches += ports * len(route.Matches)
				if !slices.ContainsFunc(others, route.Same) {
					others = append(others, route)
				}
				if len(others) > previewRoutes {
					return nil, errTooMany
				}
			}
		}
	}
	if matches > previewMatches {
		return nil, errTooMany
	}
	return others, nil
}

// table returns what requests meet by the routes.
func (p *preview) table(routes traffic.Routes) *traffic.Table {
	return traffic.New(p.Reader, routes, traffic.Options{Engine: p.engine})
}

// reveals reports whether the author of the request may learn of other routes and
// namespaces: not without a grant, even if that is not enforced. An update that leaves the
// spec as it is passes without one, and changes nothing.
func reveals(r *review, verdict *validate.Verdict) bool {
	if r.Object.Kind.GrantOnly() || verdict.Denied() || r.Operation == operationUpdate && r.specUnchanged() {
		return false
	}
	return !slices.ContainsFunc(verdict.Findings, func(f validate.Finding) bool {
		return f.Rule == validate.RuleGrantMissing || f.Rule == validate.RuleConsumerRefused
	})
}
