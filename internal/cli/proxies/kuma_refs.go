package proxies

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// service returns the Service that is meant, and its port: a number, a name, or "" for all.
func (t *targetRef) service(namespace string) (name, in, port string, ok bool) {
	if t.Kind != "MeshService" {
		return "", "", "", false
	}
	if rest, number, found := cutLast(t.Name, "_svc_"); found { // cart_shop_svc_80
		if name, namespace, found := cutLast(rest, "_"); found {
			return name, namespace, number, true
		}
	}
	name, in = cmp.Or(t.Name, t.Labels[kumaName]), cmp.Or(t.Namespace, t.Labels[kumaNamespace], namespace)
	if t.Port != 0 {
		return name, in, strconv.FormatInt(t.Port, 10), true
	}
	return name, in, t.SectionName, true
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// applyTo adds what the filter does.
func (f *meshFilter) applyTo(a *action, world World, namespace string) error {
	a.modify(&mesh.Filter{RequestHeaderModifier: f.RequestHeaderModifier, ResponseHeaderModifier: f.ResponseHeaderModifier})
	if f.RequestRedirect != nil {
		a.redirect = f.RequestRedirect
	}
	if f.URLRewrite != nil {
		a.rewrite = f.URLRewrite
	}
	if f.RequestMirror != nil {
		parts, of := int64(100), int64(100)
		if text := strings.Trim(string(f.RequestMirror.Percentage), `"`); text != "" {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil || number < 0 || number > 100 {
				return fmt.Errorf("requestMirror.percentage: want a number between 0 and 100")
			}
			parts, of = int64(number*10_000), 1_000_000
		}
		if to := f.RequestMirror.BackendRef.backend(world, namespace); parts > 0 && failures[to] == "" {
			a.mirrors = append(a.mirrors, fraction(to, parts, of))
		}
	}
	return nil
}

// backend names a backend, or the status where there is none.
func (t *targetRef) backend(world World, namespace string) string {
	name, in, section, ok := t.service(namespace)
	switch {
	case t.Name == kumaUnresolved:
		return "500"
	case !ok:
		return t.Kind + " " + t.Name
	}
	port, err := strconv.ParseInt(section, 10, 32)
	if err != nil { // a name
		service, err := mesh.FindService(world.Reader, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: in, Name: name})
		if err == nil {
			for _, p := range service.Ports {
				if p.Name == section || section == "" && len(service.Ports) == 1 {
					port = int64(p.Number)
				}
			}
		}
	}
	return world.orFails(in, name, port)
}
