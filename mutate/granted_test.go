package mutate_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func TestGranted(t *testing.T) {
	type namespaces = map[string]map[string]string
	const (
		grant     = "gammaguard.dev/grant"
		consumers = "gammaguard.dev/consumer-routes"
		producer  = `{group: "", kind: Service, name: one}`
		consumer  = `{group: "", kind: Service, name: one, namespace: bar}`
		noGroup   = `{kind: Service, name: one, namespace: bar}`
		gateway   = `{name: one, namespace: bar}`
	)
	all := map[string]string{grant: "all"}
	none := map[string]string{}
	for _, test := range []struct {
		name       string
		refs       string
		namespaces namespaces
		service    string // the label of the Service bar/one
		grants     mesh.GrantPolicy
		err        error
		want       bool // whether another namespace may be read
		own        bool // whether only the own one may be
	}{
		{name: "producer granted", refs: producer, namespaces: namespaces{"shop": {grant: "producer"}}, want: true},
		{name: "producer not granted", refs: producer, namespaces: namespaces{"shop": {grant: "consumer"}}},
		{name: "consumer granted", refs: consumer, namespaces: namespaces{"shop": {grant: "consumer"}, "bar": none}, want: true},
		{name: "consumer not granted", refs: consumer, namespaces: namespaces{"shop": {grant: "producer"}, "bar": none}},
		{name: "a parent without its group counts", refs: noGroup, namespaces: namespaces{"shop": {grant: "producer"}, "bar": none}},
		{name: "one of two roles", refs: producer + ", " + consumer, namespaces: namespaces{"shop": {grant: "producer"}, "bar": none}},
		{name: "both roles", refs: producer + ", " + consumer, namespaces: namespaces{"shop": all, "bar": none}, want: true},
		{name: "a Gateway needs no grant", refs: producer + ", " + gateway, namespaces: namespaces{"shop": {grant: "producer"}}, want: true},
		{name: "unlabeled", refs: producer, namespaces: namespaces{"shop": none}},
		{name: "no such namespace", refs: producer},
		{
			name: "the default", refs: producer, namespaces: namespaces{"shop": none},
			grants: mesh.GrantPolicy{Default: mesh.GrantProducer}, want: true,
		},
		{
			name: "a selector for another kind", refs: producer, namespaces: namespaces{"shop": none},
			grants: mesh.GrantPolicy{Selectors: []mesh.GrantSelector{
				{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Producer}, RouteKinds: []mesh.RouteKind{mesh.GRPCRoute}},
			}},
		},
		{name: "refused by the namespace", refs: consumer, namespaces: namespaces{"shop": all, "bar": {consumers: "deny"}}, own: true},
		{name: "refused by the Service", refs: consumer, namespaces: namespaces{"shop": all, "bar": none}, service: "deny", own: true},
		{name: "allowed by the Service", refs: consumer, namespaces: namespaces{"shop": all, "bar": {consumers: "deny"}}, service: "allow", want: true},
		{name: "cannot be known", refs: producer, namespaces: namespaces{"shop": all}, err: mesh.ErrUnknown, own: true},
		{name: "cannot be asked", refs: producer, namespaces: namespaces{"shop": all}, err: errors.New("connection refused")},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, route := decode(t, "kind: HTTPRoute\nmetadata: {namespace: shop, name: r}\nspec: {parentRefs: ["+test.refs+"]}")
			w := &world{services: services(), namespaces: test.namespaces, err: test.err}
			one := w.services["bar/one"]
			one.ConsumerRoutes = test.service
			w.services["bar/one"] = one
			for _, enforced := range []bool{true, false} {
				w.read = nil
				mayRead := mutate.Granted(route, &test.grants, enforced, w)
				if len(w.read) > 0 {
					t.Error("the world is asked although nobody wants to read")
				}
				for range 2 {
					if got := mayRead("bar"); got != test.want {
						t.Errorf("enforced %t: may read: %t, want %t", enforced, got, test.want)
					}
					if got, want := mayRead("shop"), test.want || test.own || !enforced; got != want {
						t.Errorf("enforced %t: may read the own namespace: %t, want %t", enforced, got, want)
					}
				}
			}
		})
	}
}

// A label of the consumer's parent that cannot be read may be a refusal.
func TestGrantedUnknownHandshake(t *testing.T) {
	_, route := decode(t, `
kind: HTTPRoute
metadata: {namespace: shop, name: r}
spec: {parentRefs: [{group: "", kind: Service, name: one, namespace: bar}]}`)
	labeled := map[string]map[string]string{"shop": {"gammaguard.dev/grant": "all"}, "bar": {}}
	for _, w := range []mesh.Reader{
		failing{Reader: &world{namespaces: labeled}, service: mesh.ErrUnknown},
		failing{Reader: &world{namespaces: labeled}, namespace: "bar"},
	} {
		if mutate.Granted(route, &mesh.GrantPolicy{}, true, w)("bar") {
			t.Errorf("%+v: may be read", w)
		}
	}
	if !mutate.Granted(route, &mesh.GrantPolicy{}, true, &world{namespaces: labeled})("bar") {
		t.Error("a Service that does not exist refuses nobody, yet may not be read")
	}
}

// failing is a Reader that does not know about Services, or about one namespace.
type failing struct {
	mesh.Reader
	service   error
	namespace string
}

// Do implements mesh.Reader.
func (f failing) Do(read mesh.Read) mesh.Answer {
	switch {
	case read.Kind == mesh.ReadService && f.service != nil:
		return mesh.Answer{Err: f.service}
	case read.Kind == mesh.ReadNamespace && read.Namespace == f.namespace:
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return f.Reader.Do(read)
}
