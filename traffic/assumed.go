package traffic

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// assumedService returns a Service that is not in the input, with the ports that the parentRefs of routes in any of the
// tables name, and port 0 for all others where a parentRef names none.
func assumedService(key mesh.ServiceKey, tables ...*Table) *mesh.Service {
	service := &mesh.Service{Key: key, Type: mesh.ClusterIP}
	for _, t := range tables {
		for _, r := range t.bound[key] {
			for i := range r.Parents {
				port := mesh.Port{Name: r.Parents[i].SectionName, Number: r.Parents[i].Port, Protocol: r.Kind.Transport()}
				if r.Parents[i].Service(r.Namespace) == key && !slices.Contains(service.Ports, port) {
					service.Ports = append(service.Ports, port)
				}
			}
		}
	}
	return service
}

// otherPort returns a number for a port that has none, for an example: 0 if it has a name, and else one that the Service does
// not have.
func otherPort(service *mesh.Service, name string) int32 {
	if name != "" {
		return 0
	}
	number := int32(80)
	for slices.ContainsFunc(service.Ports, func(p mesh.Port) bool { return p.Number == number }) {
		number++
	}
	return number
}

// What is assumed of a Service that is not known. A note with toHavePorts says more than the one with toExist.
const (
	toExist     = "exist"
	toHavePorts = "have the ports that routes name"
)

// noteAssumed says what is assumed of the Service.
func (t *Table) noteAssumed(key mesh.ServiceKey) string {
	return t.assumes(key.String(), readOf(key), toHavePorts)
}

// noteExists says that the Service is assumed to exist.
func (t *Table) noteExists(key mesh.ServiceKey) string {
	return t.assumes(key.String(), readOf(key), toExist)
}

// readOf is the read of a Service.
func readOf(key mesh.ServiceKey) mesh.Read { return mesh.Read{Kind: mesh.ReadService, Service: key} }

// assumedFor returns the Service, which is not in the input, as routes name it, and with the port of the request if a route
// is for all ports. It is nil if no route has it as a parent.
func (t *Table) assumedFor(r *Request) *mesh.Service {
	if len(t.bound[r.Service]) == 0 {
		return nil
	}
	service := assumedService(r.Service, t)
	number := func(p mesh.Port) bool { return p.Number != 0 }
	if r.Port != 0 {
		for _, p := range service.Ports {
			if p.Number == 0 && p.Name == "" && (r.Protocol == "" || r.Protocol == p.Protocol) {
				service.Ports = append(service.Ports, mesh.Port{Number: r.Port, Protocol: p.Protocol})
				break
			}
		}
	} else if r.PortName == "" && slices.ContainsFunc(service.Ports, number) { // the others cannot be meant
		service.Ports = slices.DeleteFunc(service.Ports, func(p mesh.Port) bool { return p.Number == 0 })
	}
	return service
}

// Parents returns the Services of that kind and name that routes have as a parent, by namespace.
func (t *Table) Parents(kind, name string) (keys []mesh.ServiceKey) {
	for key := range t.bound {
		if key.Kind == kind && key.Name == name {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}
