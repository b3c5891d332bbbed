package validate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Policy is the part of the configuration for judging routes.
type Policy struct {
	// Mode is how deny rules act in namespaces without the label for it.
	Mode mesh.Mode
	// Mesh is the profile of the mesh; nil for the specification.
	Mesh *mesh.Profile
	// RouteKinds are the kinds that the mesh implements: only these compete for
	// ports. Empty for all.
	RouteKinds []mesh.RouteKind
	// Grants are the grants in addition to the namespaces' labels.
	Grants mesh.GrantPolicy
	// Actions sets actions of rules by ID; the others keep their defaults.
	Actions map[string]Action
	// AllowedParentKinds are the kinds ("Kind.group") that a parentRef may have
	// in addition to Gateway, ListenerSet, Service and ServiceImport; empty for any.
	AllowedParentKinds []string
	// ParentRouteKinds are, for kinds ("Kind.group") among these or any, the kinds of routes that
	// may have such a parent; all where a kind is not named.
	ParentRouteKinds map[string][]mesh.RouteKind
	// Exemptions are those whose denials become audit entries.
	Exemptions Exemptions
}

// Exemptions define whose requests are judged, but never denied.
type Exemptions struct {
	Usernames, Groups, Namespaces []string
}

// Cover reports whether a request is exempt.
func (e *Exemptions) Cover(user User, namespace string) bool {
	return e.CoverNamespace(namespace) ||
		slices.Contains(e.Usernames, user.Name) ||
		slices.ContainsFunc(user.Groups, func(group string) bool { return slices.Contains(e.Groups, group) })
}

// CoverNamespace reports whether all requests for routes of the namespace are exempt.
func (e *Exemptions) CoverNamespace(name string) bool { return slices.Contains(e.Namespaces, name) }

// ModeIn returns how deny rules act on routes in the namespace: by its label, or
// by the policy where there is none.
func (p *Policy) ModeIn(namespace *mesh.Namespace) mesh.Mode {
	labels, _ := namespace.Policy()
	switch {
	case labels.Mode != "":
		return labels.Mode
	case p.Mode != "":
		return p.Mode
	}
	return mesh.Enforce
}

// Implements reports whether the mesh implements the route kind.
func (p *Policy) Implements(kind mesh.RouteKind) bool {
	return len(p.RouteKinds) == 0 || slices.Contains(p.RouteKinds, kind)
}

// Ignores reports whether the mesh does not act on the route on the Service: because of its kind,
// its scope, or something in its rules.
func (p *Policy) Ignores(route *mesh.AttachedRoute, service mesh.ServiceKey) bool {
	return !p.Implements(route.Kind) || route.Kind.GrantOnly() || route.Dropped != "" || p.Mesh != nil &&
		(service.Kind == mesh.ServiceImportKind && !p.Mesh.ServiceImports.Value || route.Namespace != service.Namespace && !p.Mesh.ConsumerRoutes.Value)
}

// Unmatched says what becomes of requests that no rule of the routes of the kind on a port matches, and whether they are rejected as far as is known.
func (p *Policy) Unmatched(kind mesh.RouteKind) (text string, rejected bool) {
	switch p.Mesh.Does(kind, mesh.NoMatch).Value {
	case mesh.ToParent:
		return "reach the Service itself", false
	case mesh.UnknownTreatment:
		return "may be rejected (not known of " + p.Mesh.Title + ")", true
	}
	return "are rejected", true
}

// User is the user who makes a request.
type User struct {
	Name   string
	Groups []string
}

// Request is a request to judge.
type Request struct {
	// Route is the route as it would be stored.
	Route *mesh.Route
	// Object and Old are, on UPDATE, the route as it would be stored and as it is
	// stored, in JSON. They are read only if a finding would deny.
	Object, Old []byte
	// DryRun is set for requests that are not persisted.
	DryRun bool
	// Before is what there was when Old was stored, where the cluster changes with the route: what
	// held by it is an existing problem, and is reported also of an update that changes nothing that
	// counts. Nil at admission: the cluster is as it was, and the API server does not send such updates.
	Before mesh.Reader
	// Stored is set for a stored route that is judged for an administrator: what a mode or an
	// exemption admits hides nothing of what the other rules find.
	Stored bool
	User   User
}
