package mesh

import (
	"slices"
	"strings"
)

// Gap is why a mesh does not apply routes, by the labels and annotations that enroll Services and
// Pods in it.
type Gap struct{ Problem, Remedy string }

// waypointLabel, on a Service or its namespace, names the waypoint of ambient mode that applies
// routes on it.
const waypointLabel = "istio.io/use-waypoint"

// ambient reports whether Istio's ambient mode has the Pods of the namespace.
func (n *Namespace) ambient() bool {
	return n != nil && n.Labels["istio.io/dataplane-mode"] == "ambient"
}

// Unenrolled returns why the mesh applies no route of these clients on the Service, or nil. home is
// the Service's namespace, and clients that of a consumer route, nil for a producer route. A
// Service or namespace that is not known counts as enrolled.
func (p *Profile) Unenrolled(service *Service, home, clients *Namespace) *Gap {
	switch {
	case p == nil:
		return nil
	case clients != nil && !p.injects(clients):
		return &Gap{
			"by its labels and annotations, namespace " + clients.Name + " has no Pods in " + p.Title + ": if so, the route has no effect",
			p.Injection.Value.Remedy,
		}
	case p.Name == Istio && (clients == nil && home.ambient() || clients.ambient()) && !service.hasWaypoint(home):
		return &Gap{
			"neither the Service nor its namespace has the label " + waypointLabel + ", so ambient mode applies no route on it",
			"set the label to the name of a waypoint",
		}
	}
	return nil
}

// OverridesOf returns the objects that, if they exist, make the mesh ignore the routes of a namespace
// on the Service: those of the clients of a consumer route count too.
func (p *Profile) OverridesOf(service ServiceKey, routes string) []ObjectKey {
	if p == nil {
		return nil
	}
	var keys []ObjectKey
	for _, named := range p.Overrides.Value {
		kind, group, _ := strings.Cut(named, ".")
		for _, namespace := range slices.Compact([]string{routes, service.Namespace}) {
			keys = append(keys, ObjectKey{group, kind, namespace, service.Name + "." + service.Namespace + ".svc.cluster.local"})
		}
	}
	return keys
}

// hasWaypoint reports whether the Service has a waypoint: its own label counts before that of its
// namespace. Where one of them is not known, it has.
func (s *Service) hasWaypoint(home *Namespace) bool {
	switch {
	case s == nil:
		return true
	case s.Waypoint != "":
		return s.Waypoint != "none"
	case home == nil:
		return true
	}
	name := home.Labels[waypointLabel]
	return name != "" && name != "none"
}

// Injection is how a namespace has its Pods added to a mesh: by any of these labels, with any value
// of a list, or any value where there is none, or by the annotation.
type Injection struct {
	Labels map[string][]string
	// Annotation is set where the annotation linkerd.io/inject counts.
	Annotation bool
	// Remedy is what to set.
	Remedy string
}

// injects reports whether the mesh adds the Pods of the namespace.
func (p *Profile) injects(namespace *Namespace) bool {
	how := &p.Injection.Value
	if how.Annotation && (namespace.LinkerdInject == "enabled" || namespace.LinkerdInject == "ingress") {
		return true
	}
	for key, values := range how.Labels {
		value, set := namespace.Labels[key]
		if set && (len(values) == 0 || slices.Contains(values, value)) {
			return true
		}
	}
	return !how.Annotation && len(how.Labels) == 0
}
