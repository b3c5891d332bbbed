package attack

// A parent is a parentRef that some mesh reads as one of its own.
type parent = object

// named are kinds with the groups that they are written with. An omitted group is nil.
var named = []struct {
	kinds  []string
	groups []any
}{
	{
		[]string{"Service", "service", "SERVICE"},
		[]any{"", nil, "core", "v1", "core/v1", "gateway.networking.k8s.io"},
	},
	{[]string{"ServiceImport", "SERVICEIMPORT"}, []any{"multicluster.x-k8s.io", nil, "core"}},
	{[]string{"ServiceEntry", "serviceentry"}, []any{"networking.istio.io"}},
	{[]string{"MeshService", "meshservice"}, []any{"kuma.io"}},
	{[]string{"EgressNetwork", "egressnetwork"}, []any{"policy.linkerd.io"}},
	{[]string{"Server", "server"}, []any{"policy.linkerd.io"}},
	{[]string{"UnmeshedNetwork"}, []any{"policy.linkerd.io"}},
}

// places are what else a parentRef says: where its object is, and which port is meant.
var places = []object{
	{},
	{"namespace": "shop", "port": int64(80), "sectionName": "http"},
}

// gatewayParent is the parent of a route that does not concern gammaguard.
func gatewayParent() parent { return parent{"name": "gateway"} }

// meshParents are all kinds in all their spellings, groups and places.
func meshParents() []parent {
	var all []parent
	for _, n := range named {
		for _, kind := range n.kinds {
			for _, group := range n.groups {
				for _, place := range places {
					p := parent{"kind": kind, "name": "cart"}
					if group != nil {
						p["group"] = group
					}
					for field, value := range place {
						p[field] = value
					}
					all = append(all, p)
				}
			}
		}
	}
	return all
}
