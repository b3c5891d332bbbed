package standing

import "github.com/gammaguard/gammaguard/internal/kube"

// due are the routes to be judged, by namespace, nil for all in it, and the namespaces in
// their order.
type due struct {
	routes map[string]map[kube.RouteKey]struct{}
	order  []string
}

func (d *due) add(key kube.RouteKey) {
	routes, waits := d.routes[key.Namespace]
	switch {
	case !waits:
		d.routes[key.Namespace] = map[kube.RouteKey]struct{}{key: {}}
		d.order = append(d.order, key.Namespace)
	case routes != nil:
		routes[key] = struct{}{}
	}
}

// addAll adds all routes of the namespace.
func (d *due) addAll(namespace string) {
	if _, waits := d.routes[namespace]; !waits {
		d.order = append(d.order, namespace)
	}
	d.routes[namespace] = nil
}

// next takes the routes of the namespace that has waited longest.
func (d *due) next() (namespace string, routes map[kube.RouteKey]struct{}) {
	namespace = d.order[0]
	routes = d.routes[namespace]
	delete(d.routes, namespace)
	if d.order = d.order[1:]; len(d.order) == 0 {
		*d = due{routes: map[string]map[kube.RouteKey]struct{}{}}
	}
	return namespace, routes
}
