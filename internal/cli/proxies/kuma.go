package proxies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// kuma is MeshHTTPRoutes, those for all clients before those for some.
type kuma []meshRoute

// meshRoute is a MeshHTTPRoute. Client is the namespace whose clients it is for; empty for all.
type meshRoute struct {
	object
	client string
	to     []meshTo
}

type meshTo struct {
	TargetRef targetRef  `json:"targetRef"`
	Rules     []meshRule `json:"rules"`
}

// targetRef names clients, a destination, or a backend.
type targetRef struct {
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	SectionName string            `json:"sectionName"`
	Labels      map[string]string `json:"labels"`
	Tags        map[string]string `json:"tags"`
	Port        int64             `json:"port"`
	Weight      *int64            `json:"weight"`
}

type meshRule struct {
	Matches jsontext.Value `json:"matches"`
	Default struct {
		Filters     *[]meshFilter `json:"filters"`
		BackendRefs *[]targetRef  `json:"backendRefs"`
	} `json:"default"`
}

type meshFilter struct {
	Type                   string                `json:"type"`
	RequestHeaderModifier  *mesh.HeaderModifier  `json:"requestHeaderModifier"`
	ResponseHeaderModifier *mesh.HeaderModifier  `json:"responseHeaderModifier"`
	RequestRedirect        *mesh.RequestRedirect `json:"requestRedirect"`
	URLRewrite             *mesh.URLRewrite      `json:"urlRewrite"`
	RequestMirror          *struct {
		Percentage jsontext.Value `json:"percentage"`
		BackendRef targetRef      `json:"backendRef"`
	} `json:"requestMirror"`
}

// The tags and labels by which Kuma names a namespace, and what it names a backend that is not there.
const (
	kumaNamespace  = "k8s.kuma.io/namespace"
	kumaName       = "kuma.io/display-name"
	kumaUnresolved = "kuma.io/unresolved-backend"
)

// readKuma reads MeshHTTPRoutes. Those of Kuma's own gateways, and those of other destinations, are left out.
func readKuma(objects []object) (*Given, error) {
	var all kuma
	for _, o := range objects {
		var read struct {
			Spec struct {
				TargetRef targetRef `json:"targetRef"`
				To        []meshTo  `json:"to"`
			} `json:"spec"`
		}
		if err := mesh.Decode(o.data, &read); err != nil {
			return nil, fmt.Errorf("%s: %w", &o, err)
		}
		clients := &read.Spec.TargetRef
		client := cmp.Or(clients.Tags[kumaNamespace], clients.Labels[kumaNamespace])
		switch of := len(clients.Tags) + len(clients.Labels); {
		case clients.Kind == "MeshGateway":
			continue
		case slices.Contains([]string{"", "Mesh", "MeshSubset", "Dataplane"}, clients.Kind) && clients.Name == "" && (of == 0 || of == 1 && client != ""):
		default:
			return nil, fmt.Errorf("%s: spec.targetRef: gammaguard compares clients by their namespace alone; leave this object out", &o)
		}
		all = append(all, meshRoute{o, client, read.Spec.To})
	}
	slices.SortStableFunc(all, func(a, b meshRoute) int {
		return cmp.Or(cmp.Compare(min(1, len(a.client)), min(1, len(b.client))), strings.Compare(a.String(), b.String()))
	})
	return &Given{Format: KumaRoutes, Mesh: mesh.Kuma, Everywhere: true, source: all}, nil
}

func (k kuma) services() (keys []mesh.ServiceKey) {
	for i := range k {
		for j := range k[i].to {
			if name, namespace, _, ok := k[i].to[j].TargetRef.service(k[i].namespace); ok {
				keys = append(keys, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: namespace, Name: name})
			}
		}
	}
	return keys
}

func (k kuma) clients(of mesh.ServiceKey) (namespaces []string) {
	for i := range k {
		on := func(to meshTo) bool {
			name, namespace, _, ok := to.TargetRef.service(k[i].namespace)
			return ok && name == of.Name && namespace == of.Namespace
		}
		if k[i].client != "" && slices.ContainsFunc(k[i].to, on) {
			namespaces = append(namespaces, k[i].client)
		}
	}
	return namespaces
}

func (k kuma) at(world World, service *mesh.Service, port mesh.Port, from string) (*Port, error) {
	var (
		all   ranked
		named bool
		// seen are the rules by their matches: of two with the same, the later one's fields count.
		seen = map[string]*action{}
	)
	for i := range k {
		r := &k[i]
		if r.client != "" && r.client != from {
			continue
		}
		for j := range r.to {
			name, namespace, section, ok := r.to[j].TargetRef.service(r.namespace)
			if !ok || name != service.Key.Name || namespace != service.Key.Namespace ||
				section != "" && section != port.Name && section != strconv.Itoa(int(port.Number)) {
				continue
			}
			named = true
			for n := range r.to[j].Rules {
				place := fmt.Sprintf("%s: spec.to[%d].rules[%d]", &r.object, j, n)
				if err := r.to[j].Rules[n].add(&all, world, r.namespace, seen); err != nil {
					return nil, fmt.Errorf("%s: %w", place, err)
				}
			}
		}
	}
	if !named {
		return nil, nil //nolint:nilnil // nothing is given
	}
	all.sort()
	return &Port{Conditions: all.conditions(), Answer: func(r *traffic.Request) (*Answer, error) {
		if m := all.find(r); m != nil {
			return m.answer(r, m.prefix), nil
		}
		if world.Profile.Does(mesh.HTTPRoute, mesh.NoMatch).Value == mesh.ToParent {
			return direct(service, port), nil
		}
		return answerOf("404"), nil
	}}, nil
}

// add adds the matches of a rule, or changes the rule that has the same.
func (rule *meshRule) add(all *ranked, world World, namespace string, seen map[string]*action) error {
	key, matches, err := rule.matches()
	if err != nil {
		return err
	}
	a, known := seen[key]
	if !known {
		a = &action{}
		seen[key] = a
		for _, conditions := range matches {
			if err := all.add(conditions, world.Profile.RanksExpressionsLast(), func(r *traffic.Request, prefix string) *Answer { return a.answer(r, prefix) }); err != nil {
				return err
			}
		}
	}
	if filters := rule.Default.Filters; filters != nil {
		*a = action{shares: a.shares}
		for i := range *filters {
			if err := (*filters)[i].applyTo(a, world, namespace); err != nil {
				return fmt.Errorf("default.filters[%d]: %w", i, err)
			}
		}
	}
	if refs := rule.Default.BackendRefs; refs != nil {
		a.shares = nil
		for i := range *refs {
			weight := int64(1)
			if w := (*refs)[i].Weight; w != nil {
				weight = *w
			}
			if weight < 0 || weight > maxWeight {
				return fmt.Errorf("default.backendRefs[%d].weight: want at most %d", i, maxWeight)
			}
			a.shares = append(a.shares, actionShare{backend: (*refs)[i].backend(world, namespace), weight: weight})
		}
	}
	return nil
}

// maxWeight is the API's largest weight of a backendRef.
const maxWeight = 1_000_000

// matches returns the conditions of each match, and a text that is the same for the same matches.
func (rule *meshRule) matches() (key string, matches [][]mesh.Condition, err error) {
	var read struct {
		Matches []mesh.RouteMatch `json:"matches"`
	}
	text, err := json.Marshal(map[string]json.RawMessage{"matches": json.RawMessage(cmp.Or(string(rule.Matches), "null"))})
	if err != nil {
		return "", nil, err
	}
	if err := mesh.Decode(text, &read); err != nil {
		return "", nil, err
	}
	route := &mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{Rules: []mesh.RouteRule{{Matches: read.Matches}}}}
	matches = route.Conditions(0, nil)
	var same strings.Builder
	for _, conditions := range matches {
		for _, c := range conditions {
			for _, text := range []string{string(c.Dimension), c.Name, string(c.Type), c.Text} {
				same.WriteString(strconv.Quote(text))
			}
		}
		same.WriteByte('\n')
	}
	return same.String(), matches, nil
}
