package mutate_test

import "github.com/gammaguard/gammaguard/mesh"

// chooser makes a route from bytes: each picks one of several values. Where the
// bytes end, it picks the first.
type chooser []byte

type object = map[string]any

func (c *chooser) next() int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b)
}

// pick sets a member to one of the values, or leaves it out where that is nil.
func (c *chooser) pick(in object, member string, values ...any) {
	if value := values[c.next()%len(values)]; value != nil {
		in[member] = value
	}
}

func (c *chooser) route() object {
	kinds := mesh.RouteKinds()
	spec := object{}
	parents := make([]object, c.next()%5)
	for i := range parents {
		parents[i] = c.parent()
	}
	rules := make([]object, c.next()%3)
	for i := range rules {
		backends := make([]object, c.next()%4)
		for j := range backends {
			backends[j] = c.backend()
			backends[j]["filters"] = c.filters()
		}
		rules[i] = object{"backendRefs": backends, "filters": c.filters(), "unknown": []int{i}}
	}
	spec["parentRefs"], spec["rules"] = parents, rules
	return object{"kind": kinds[c.next()%len(kinds)], "metadata": object{"namespace": "shop", "name": "r"}, "spec": spec}
}

func (c *chooser) parent() object {
	ref := object{}
	c.pick(ref, "kind", mesh.ServiceKind, mesh.ServiceKind, mesh.ServiceKind, mesh.ServiceImportKind, "Gateway", "ServiceEntry", nil)
	c.pick(ref, "group", "", nil, "core", "v1", "core/v1", "/v1", mesh.GatewayGroup, mesh.GatewayGroup+"/v1", mesh.MulticlusterGroup,
		mesh.MulticlusterGroup+"/v1alpha1", "v1/v1", "example.com/v1")
	c.where(ref)
	c.pick(ref, "sectionName", nil, nil, nil, "http", "grpc", "dns", "dns-tcp")
	return ref
}

func (c *chooser) backend() object {
	ref := object{}
	c.pick(ref, "kind", nil, mesh.ServiceKind, mesh.ServiceImportKind, "Bucket")
	c.pick(ref, "group", nil, "", "core", mesh.MulticlusterGroup)
	c.where(ref)
	return ref
}

// where sets the members that parentRefs and backendRefs have in common.
func (c *chooser) where(ref object) {
	c.pick(ref, "name", "two", "two", "one", "dns", "udp", "mixed", "foreign", "unnamed", "none", "headless", "gone", "", nil)
	c.pick(ref, "namespace", nil, nil, nil, "shop", "bar")
	c.pick(ref, "port", nil, nil, 80, 90, 53, 0)
}

func (c *chooser) filters() []object {
	filters := make([]object, c.next()%3)
	for i := range filters {
		filters[i] = object{"type": "RequestMirror"}
		if c.next()%2 == 0 {
			filters[i]["requestMirror"] = object{"backendRef": c.backend(), "fraction": object{"numerator": 1}}
		}
	}
	return filters
}
