package mutate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

func backendPort() *Mutation {
	return &Mutation{
		ID:    "backend-port",
		Title: "A backendRef to a Service without a port, including RequestMirror filters, gets the only possible port",
		Rationale: "The API requires a port in every backendRef to a Service. If the Service is a parent of the route and its parentRef selects one " +
			"port, the backendRef gets this port. If the Service has a single port, the backendRef gets this port. The backendRef is not changed if two " +
			"parentRefs select different ports, or if the Service has ports with different numbers. Nor is it changed if the Service has no such port " +
			"with the transport protocol of the route.",
		Citation:      "GEP-1294, API: the example's backendRefs have no port",
		ReadsServices: true,
		find:          findBackendPorts,
	}
}

func findBackendPorts(p *pass) []Change {
	if !p.route.HasMeshParent(p.mesh) {
		return nil
	}
	var changes []Change
	known := map[mesh.ServiceKey]onlyPort{} // of each Service there may be many
	for backend := range p.route.Backends() {
		ref := backend.Ref
		if ref.Port != 0 || ref.Name == "" || !ref.IsService(p.mesh) {
			continue
		}
		key := ref.Service(p.namespace())
		if key.Kind != mesh.ServiceKind {
			continue
		}
		only, found := known[key]
		if !found {
			only.number, only.why = p.onlyPort(key)
			known[key] = only
		}
		if only.number != 0 {
			changes = append(changes, set(backend.Path()+".port", 0, only.number, only.why))
		}
	}
	return changes
}

// onlyPort is the one port that a Service can have been meant by, and why.
type onlyPort struct {
	number int32
	why    string
}

// onlyPort returns the one port number that the route can mean on the Service,
// and why; or 0 where there is none, or more than one.
func (p *pass) onlyPort(key mesh.ServiceKey) (port int32, why string) {
	var (
		numbers []int32
		parent  bool
		// whole is set if all ports of the Service come into question.
		whole bool
	)
	for i := range p.route.Spec.ParentRefs {
		ref := &p.route.Spec.ParentRefs[i]
		if ref.Name != key.Name || ref.Class(p.mesh) != mesh.MeshParent || ref.Service(p.namespace()) != key {
			continue
		}
		parent = true
		switch {
		case ref.Port != 0:
			numbers = append(numbers, ref.Port)
		case ref.SectionName != "":
			numbers = append(numbers, p.sectionPort(key, ref.SectionName))
		default:
			whole = true
		}
	}
	if !parent || whole {
		why = key.String() + " has no other port"
		numbers = append(numbers, p.singlePort(key))
	} else {
		why = "the parentRef to " + key.String() + " names this port"
	}
	if slices.ContainsFunc(numbers, func(n int32) bool { return n != numbers[0] }) || parent && !whole && p.lacks(key, numbers[0]) {
		return 0, ""
	}
	return numbers[0], why
}

// lacks reports whether the Service is known, and has no such port that speaks the route's
// transport. One that may not be read, or does not exist, is for the rules to report.
func (p *pass) lacks(key mesh.ServiceKey, number int32) bool {
	service := p.service(key)
	return service != nil && !slices.ContainsFunc(service.Ports, func(port mesh.Port) bool {
		return port.Number == number && port.Protocol == p.route.Kind.Transport()
	})
}

// sectionPort returns the number of the Service's port with that name, or 0 where
// it has none that speaks the route's transport.
func (p *pass) sectionPort(key mesh.ServiceKey, name string) int32 {
	service := p.service(key)
	if service == nil {
		return 0
	}
	for i := range service.Ports {
		if port := &service.Ports[i]; port.Name == name && port.Protocol == p.route.Kind.Transport() {
			return port.Number
		}
	}
	return 0
}

// singlePort returns the number that all ports of the Service have, or 0 where
// they have several or none of them speaks the route's transport.
func (p *pass) singlePort(key mesh.ServiceKey) int32 {
	service := p.service(key)
	if service == nil {
		return 0
	}
	spoken := false
	for i := range service.Ports {
		if service.Ports[i].Number != service.Ports[0].Number {
			return 0
		}
		spoken = spoken || service.Ports[i].Protocol == p.route.Kind.Transport()
	}
	if !spoken {
		return 0
	}
	return service.Ports[0].Number
}
