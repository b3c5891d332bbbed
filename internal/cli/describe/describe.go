// Package describe says all about one Service: who may route it, who does, and what
// becomes of each route.
package describe

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/bindings"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Kind is the kind of the JSON and YAML forms.
const Kind = "ServiceDescription"

// Service is all about a Service or ServiceImport.
type Service struct {
	report.TypeMeta
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Type is the type, "headless", "not found" or "unknown".
	Type string `json:"type"`
	// ConsumerRoutes are the settings for consumer routes.
	ConsumerRoutes []Setting `json:"consumerRoutes"`
	// Routes are the routes on it, by port and scope; those that attach to no port first.
	Routes []bindings.Route `json:"routes"`
	// ReplacedIn are the namespaces whose clients do not use the producer routes on some port,
	// since their own consumer routes replace these.
	ReplacedIn []string `json:"replacedIn,omitempty"`
	// GatewayRoutes are the routes on Gateways that send requests to the Service: these do not
	// meet the routes on it.
	GatewayRoutes []traffic.GatewayRoute `json:"gatewayRoutes,omitempty"`
	// BackendOf are the routes that have the Service as a backend, where it does not exist.
	BackendOf []string `json:"backendOf,omitempty"`
	// Grants are those of its namespace, and of those with routes on it; Uses and Lacks
	// are the routes on it.
	Grants []grants.Namespace `json:"grants"`
	// Notes name routes that lack the grant now, or are refused, and stay, and the labels and annotations of gammaguard that have no
	// effect where they are.
	Notes []string `json:"notes,omitempty"`
	// Unseen lists what the user cannot read.
	Unseen []string `json:"unseen,omitempty"`

	kind string // Service or ServiceImport
}

// Setting is the label, or an annotation, for consumer routes.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// From is "Service" or "ServiceImport", "namespace", "default", or "unknown", as the value then is: the user cannot read what may set it.
	From string `json:"from"`
	// Invalid is set for an annotation that cannot be read, which accepts no consumer route.
	Invalid bool `json:"invalid,omitempty"`
}

// unknown is what depends on objects that the user cannot read.
const unknown = "unknown"

// ErrNowhere is that the Service does not exist, and that no route names it.
var ErrNowhere = errors.New("it does not exist, and no route names it")

// Find describes the Service, which may not exist if a route names it; else the error is ErrNowhere. The routes are those of the cluster. Own are
// the controllers whose entries in status are gammaguard's.
func Find(cluster check.Cluster, routes []*manifest.Object, policy *validate.Policy, own []string, key mesh.ServiceKey) (*Service, error) {
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		return nil, err
	}
	stored, err := check.NewStored(cluster, routes, policy.Mesh)
	if err != nil {
		return nil, err
	}
	if Nowhere(stored, routes, policy.Mesh, key) {
		return nil, ErrNowhere
	}
	service, why := mesh.FindService(stored, key)
	d := &Service{TypeMeta: report.TypeMeta{APIVersion: report.StatesVersion, Kind: Kind}, Namespace: key.Namespace, Name: key.Name, kind: key.Kind}
	if d.Type, err = typeOf(service, why); err != nil {
		return nil, err
	}
	found, err := bindings.Sorted(engine, stored, key)
	if err != nil {
		return nil, err
	}
	var live []*mesh.AttachedRoute
	namespaces := []string{key.Namespace}
	d.Routes = make([]bindings.Route, len(found))
	book := answers.Read(routes, own)
	for i := range found {
		d.Routes[i] = bindings.RouteOf(&found[i], 0, book)
		if r := &d.Routes[i]; found[i].State.InEffect() && r.Reason == "" && service != nil {
			if r.Reason, r.Rule, err = ineffective(engine, stored, service, &found[i]); err != nil {
				return nil, err
			}
		}
		d.Notes = note(d.Notes, &found[i], why)
		if found[i].State == validate.Replaced {
			d.ReplacedIn = append(d.ReplacedIn, found[i].At.Scope.ConsumerNamespace)
		}
		if found[i].State != validate.Dormant {
			live, namespaces = append(live, found[i].Route), append(namespaces, found[i].Route.Namespace)
		}
	}
	d.leaving(routes, key, policy.Mesh)
	if errors.Is(why, mesh.ErrNotFound) {
		for _, object := range routes {
			if hasBackend(object.Route, key, policy.Mesh) {
				d.BackendOf = append(d.BackendOf, object.Route.String())
			}
		}
		slices.Sort(d.BackendOf)
	}
	every := func(yield func(*mesh.Route) bool) {
		for _, object := range routes {
			if !yield(object.Route) {
				return
			}
		}
	}
	bypassing, err := traffic.GatewayRoutes(every, stored, policy.Mesh, key)
	if err != nil {
		return nil, err
	}
	d.GatewayRoutes = bypassing[key]
	slices.Sort(d.ReplacedIn)
	d.ReplacedIn = slices.Compact(d.ReplacedIn)
	err = d.access(stored, service, namespaces, live, routes, policy)
	return d, err
}

// note adds to the notes that the route stays, where it lacks the grant or is refused. Why is why the Service was not found.
func note(notes []string, b *validate.Binding, why error) []string {
	if text := b.Stays(); text != "" && !errors.Is(why, mesh.ErrNotFound) && !slices.Contains(notes, text) {
		return append(notes, text)
	}
	return notes
}

// Nowhere reports whether the Service does not exist, and none of the routes names it.
func Nowhere(reader mesh.Reader, routes []*manifest.Object, profile *mesh.Profile, key mesh.ServiceKey) bool {
	_, err := mesh.FindService(reader, key)
	return errors.Is(err, mesh.ErrNotFound) && !slices.ContainsFunc(routes, func(o *manifest.Object) bool { return names(o.Route, key, profile) })
}

// names reports whether the route names the Service, as a parent or as a backend.
func names(route *mesh.Route, key mesh.ServiceKey, profile *mesh.Profile) bool {
	for i := range route.Spec.ParentRefs {
		class := route.Spec.ParentRefs[i].Class(profile)
		if (class == mesh.MeshParent || class == mesh.LookAlikeParent) && route.Spec.ParentRefs[i].Service(route.Metadata.Namespace) == key {
			return true
		}
	}
	return hasBackend(route, key, profile)
}

// hasBackend reports whether the route names the Service as a backend.
func hasBackend(route *mesh.Route, key mesh.ServiceKey, profile *mesh.Profile) bool {
	for backend := range route.Backends() {
		if backend.Ref.IsService(profile) && backend.Ref.Service(route.Metadata.Namespace) == key {
			return true
		}
	}
	return false
}

// leaving sets LeavesBy of the routes that apply.
func (d *Service) leaving(routes []*manifest.Object, key mesh.ServiceKey, profile *mesh.Profile) {
	ports := map[string][]int32{} // of the Service, as backends
	for _, object := range routes {
		attached := mesh.AttachedRoute{Kind: object.Route.Kind, Namespace: object.Key.Namespace, Name: object.Key.Name}
		for backend := range object.Route.Backends() {
			if !backend.Mirror() && backend.Ref.IsService(profile) && backend.Ref.Service(attached.Namespace) == key && backend.Ref.Port != 0 {
				ports[attached.String()] = append(ports[attached.String()], backend.Ref.Port)
			}
		}
	}
	for i := range d.Routes {
		r := &d.Routes[i]
		if !r.State.InEffect() {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(ports[r.Route]), func(port int32) bool { return port == r.Port })
		slices.Sort(others)
		r.LeavesBy = slices.Compact(others)
	}
}

func typeOf(service *mesh.Service, why error) (string, error) {
	switch {
	case errors.Is(why, mesh.ErrNotFound):
		return "not found", nil
	case errors.Is(why, mesh.ErrUnknown):
		return unknown, nil
	case why != nil:
		return "", why
	case service.Headless && service.Type != mesh.ExternalName:
		return "headless", nil
	}
	return string(service.Type), nil
}

// access adds the settings for consumer routes, and the grants of the namespaces.
func (d *Service) access(world mesh.Reader, service *mesh.Service, names []string, attached []*mesh.AttachedRoute, routes []*manifest.Object, policy *validate.Policy) error {
	slices.Sort(names)
	var namespaces []*mesh.Namespace
	for _, name := range slices.Compact(names) {
		namespace, why := mesh.FindNamespace(world, name)
		if _, err := mesh.Known(namespace, why); err != nil {
			return err
		}
		if namespace != nil {
			namespaces = append(namespaces, namespace)
		}
		if name == d.Namespace {
			d.ConsumerRoutes = settings(d.kind, service, namespace, &policy.Grants)
			if label := &d.ConsumerRoutes[0]; d.Type == unknown || errors.Is(why, mesh.ErrUnknown) && label.From != d.kind {
				label.Value, label.From = unknown, unknown
			}
		}
	}
	here := slices.DeleteFunc(slices.Clone(routes), func(o *manifest.Object) bool {
		return !slices.ContainsFunc(attached, func(r *mesh.AttachedRoute) bool {
			return r.Kind == o.Route.Kind && r.Namespace == o.Key.Namespace && r.Name == o.Key.Name
		})
	})
	d.Grants = grants.Find(namespaces, here, policy).Items
	return nil
}

// settings returns the label for consumer routes, and the annotations that are set, on an object of the kind or its namespace.
func settings(kind string, service *mesh.Service, namespace *mesh.Namespace, policy *mesh.GrantPolicy) []Setting {
	var own mesh.ServiceMetadata
	if service != nil {
		own = service.ServiceMetadata
	}
	var theirs mesh.Namespace
	if namespace != nil {
		theirs = *namespace
	}
	label := Setting{Key: mesh.ConsumerRoutesLabel, Value: string(cmp.Or(policy.ConsumerRoutes, mesh.ConsumersAllowed)), From: "default"}
	if value, set := theirs.Labels[mesh.ConsumerRoutesLabel]; set {
		label.Value, label.From = value, "namespace"
	}
	if own.ConsumerRoutes != "" {
		label.Value, label.From = own.ConsumerRoutes, kind
	}
	all := []Setting{label}
	switch {
	case own.From != nil:
		all = append(all, Setting{mesh.ConsumerRoutesFromAnnotation, own.From.Value, kind, own.From.Invalid})
	case theirs.From != nil:
		all = append(all, Setting{mesh.ConsumerRoutesFromAnnotation, theirs.From.Value, "namespace", theirs.From.Invalid})
	}
	switch {
	case own.Kinds != nil:
		all = append(all, Setting{mesh.ConsumerRouteKindsAnnotation, own.Kinds.Value, kind, own.Kinds.Invalid})
	case theirs.Kinds != nil:
		all = append(all, Setting{mesh.ConsumerRouteKindsAnnotation, theirs.Kinds.Value, "namespace", theirs.Kinds.Invalid})
	}
	return all
}
