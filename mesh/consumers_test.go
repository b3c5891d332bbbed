package mesh_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestRefusesConsumers(t *testing.T) {
	const absent = "(absent)"
	type settings struct{ namespace, service string } // values; "" is no label
	for want, all := range map[mesh.RefusedBy][]settings{
		mesh.NotRefused: {
			{"", ""},
			{"", "allow"},
			{"", absent},
			{"allow", ""},
			{"allow", "allow"},
			{"deny", "allow"},
			{"perhaps", "allow"},
			{absent, ""},
			{absent, "allow"},
			{absent, absent},
		},
		mesh.RefusedByService:   {{"", "deny"}, {"", "perhaps"}, {"allow", "deny"}, {absent, "deny"}, {"deny", "deny"}, {"deny", "perhaps"}},
		mesh.RefusedByNamespace: {{"deny", ""}, {"deny", absent}, {"perhaps", ""}},
	} {
		for _, test := range all {
			var ns *mesh.Namespace
			switch test.namespace {
			case absent:
			case "":
				ns = namespace(nil)
			default:
				ns = namespace(map[string]string{mesh.ConsumerRoutesLabel: test.namespace})
			}
			var service *mesh.Service
			if test.service != absent {
				service = &mesh.Service{}
				service.ConsumerRoutes = test.service
			}
			if got := new(mesh.GrantPolicy).RefusesConsumers(ns, service, nil, mesh.HTTPRoute).By; got != want {
				t.Errorf("namespace %q, Service %q: got %d, want %d", test.namespace, test.service, got, want)
			}
		}
	}
}

// annotated returns annotations as they are decoded; a value of "-" is none.
func annotated(t *testing.T, from, kinds string) mesh.ConsumerAnnotations {
	t.Helper()
	var a mesh.ConsumerAnnotations
	if from != "-" {
		a.From = &mesh.ConsumerNamespaces{}
		if err := a.From.UnmarshalText([]byte(from)); err != nil {
			t.Fatal(err)
		}
	}
	if kinds != "-" {
		a.Kinds = &mesh.KindList{}
		if err := a.Kinds.UnmarshalText([]byte(kinds)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestRefusesConsumersByAnnotation(t *testing.T) {
	const (
		gold, none    = "tenant=gold", "tenant notin (gold)"
		byName        = "kubernetes.io/metadata.name in (faces, lab)"
		from, kinds   = mesh.ConsumerRoutesFromAnnotation, mesh.ConsumerRouteKindsAnnotation
		label         = mesh.ConsumerRoutesLabel
		ours, theirs_ = mesh.RefusedByService, mesh.RefusedByNamespace
	)
	type side struct{ label, from, kinds string }
	silent := side{"", "-", "-"}
	for name, test := range map[string]struct {
		namespace, service side
		by                 mesh.RefusedBy
		setting            string
		invalid            bool
	}{
		"nothing set":                       {silent, silent, mesh.NotRefused, "", false},
		"the Service selects":               {silent, side{"", gold, "-"}, mesh.NotRefused, "", false},
		"the Service selects others":        {silent, side{"", none, "-"}, ours, from, false},
		"the namespace selects":             {side{"", gold, "-"}, silent, mesh.NotRefused, "", false},
		"the namespace selects others":      {side{"", none, "-"}, silent, theirs_, from, false},
		"by name":                           {silent, side{"", byName, "-"}, mesh.NotRefused, "", false},
		"an empty selector selects all":     {side{"", none, "-"}, side{"", "", "-"}, mesh.NotRefused, "", false},
		"the Service overrides":             {side{"", none, "-"}, side{"", gold, "-"}, mesh.NotRefused, "", false},
		"the Service overrides, narrower":   {side{"", gold, "-"}, side{"", none, "-"}, ours, from, false},
		"both select others":                {side{"", none, "-"}, side{"", none, "-"}, ours, from, false},
		"both refuse the kind":              {side{"", "-", "GRPCRoute"}, side{"", "-", "TCPRoute"}, ours, kinds, false},
		"the Service's cannot be read":      {side{"", none, "-"}, side{"", "a in", "-"}, ours, from, true},
		"kinds":                             {silent, side{"", "-", "HTTPRoute"}, mesh.NotRefused, "", false},
		"kinds with spaces":                 {silent, side{"", "-", " GRPCRoute , HTTPRoute"}, mesh.NotRefused, "", false},
		"other kinds":                       {silent, side{"", "-", "GRPCRoute,TCPRoute"}, ours, kinds, false},
		"other kinds by the namespace":      {side{"", "-", "GRPCRoute"}, silent, theirs_, kinds, false},
		"each annotation by itself":         {side{"", gold, "GRPCRoute"}, side{"", none, "HTTPRoute"}, ours, from, false},
		"each by itself, both accept":       {side{"", gold, "GRPCRoute"}, side{"", "-", "HTTPRoute"}, mesh.NotRefused, "", false},
		"deny beats a selector":             {silent, side{"deny", gold, "HTTPRoute"}, ours, label, false},
		"the namespace's deny beats it":     {side{"deny", "-", "-"}, side{"", gold, "-"}, theirs_, label, false},
		"allow does not widen":              {silent, side{"allow", none, "-"}, ours, from, false},
		"allow against deny, then narrowed": {side{"deny", "-", "-"}, side{"allow", none, "-"}, ours, from, false},
		"allow keeps the namespace's":       {side{"", none, "-"}, side{"allow", "-", "-"}, theirs_, from, false},
		"a selector that is not one":        {silent, side{"", "a in", "-"}, ours, from, true},
		"the namespace's is not one":        {side{"", "=(", "-"}, silent, theirs_, from, true},
		"the Service's counts, whichever":   {side{"", "=(", "-"}, side{"", gold, "-"}, mesh.NotRefused, "", false},
		"kinds that are none":               {silent, side{"", "-", "HTTPRoute, Gateway"}, ours, kinds, true},
		"no kinds":                          {silent, side{"", "-", ""}, ours, kinds, true},
		"kinds in other cases":              {silent, side{"", "-", "httproute"}, ours, kinds, true},
		"too long":                          {silent, side{"", "a=" + strings.Repeat("a", 5000), "-"}, ours, from, true},
		"too long a list":                   {silent, side{"", "-", strings.Repeat("HTTPRoute,", 500) + "HTTPRoute"}, ours, kinds, true},
	} {
		t.Run(name, func(t *testing.T) {
			shop := namespace(map[string]string{})
			if test.namespace.label != "" {
				shop.Labels[label] = test.namespace.label
			}
			shop.ConsumerAnnotations = annotated(t, test.namespace.from, test.namespace.kinds)
			cart := &mesh.Service{}
			cart.ConsumerRoutes = test.service.label
			cart.ConsumerAnnotations = annotated(t, test.service.from, test.service.kinds)
			faces := &mesh.Namespace{Name: "faces", Labels: map[string]string{"tenant": "gold", "kubernetes.io/metadata.name": "faces"}}
			got := new(mesh.GrantPolicy).RefusesConsumers(shop, cart, faces, mesh.HTTPRoute)
			if got.By != test.by || got.Setting != test.setting {
				t.Errorf("refused by %d, %q; want %d, %q", got.By, got.Setting, test.by, test.setting)
			}
			if got.Invalid != test.invalid {
				t.Errorf("invalid is %t, want %t", got.Invalid, test.invalid)
			}
		})
	}
	// A namespace that does not exist matches no selector, not even one that excludes.
	cart := &mesh.Service{}
	cart.ConsumerAnnotations = annotated(t, none, "-")
	if got := new(mesh.GrantPolicy).RefusesConsumers(nil, cart, nil, mesh.HTTPRoute); got.By != ours || !got.Selects() {
		t.Errorf("without a namespace: %+v", got)
	}
}

// TestRefusesConsumersByDefault: the default counts where neither the namespace nor the Service
// has the label.
func TestRefusesConsumersByDefault(t *testing.T) {
	policy := &mesh.GrantPolicy{ConsumerRoutes: mesh.ConsumersDenied}
	for _, test := range []struct {
		namespace, service string
		want               mesh.RefusedBy
	}{
		{"", "", mesh.RefusedByDefault},
		{"", "deny", mesh.RefusedByService},
		{"", "yes", mesh.RefusedByService},
		{"", "allow", mesh.NotRefused},
		{"allow", "", mesh.NotRefused},
		{"allow", "deny", mesh.RefusedByService},
		{"deny", "", mesh.RefusedByNamespace},
		{"deny", "allow", mesh.NotRefused},
	} {
		shop, cart := &mesh.Namespace{Name: "shop", Labels: map[string]string{}}, &mesh.Service{}
		if test.namespace != "" {
			shop.Labels[mesh.ConsumerRoutesLabel] = test.namespace
		}
		cart.ConsumerRoutes = test.service
		if got := policy.RefusesConsumers(shop, cart, nil, mesh.HTTPRoute); got.By != test.want {
			t.Errorf("namespace %q, Service %q: refused by %d, want %d", test.namespace, test.service, got.By, test.want)
		}
	}
	if got := policy.RefusesConsumers(nil, nil, nil, mesh.HTTPRoute); got.By != mesh.RefusedByDefault {
		t.Errorf("nothing exists: refused by %d", got.By)
	}
}

// TestHandshakeByDefault: what cannot be read may accept what the default refuses.
func TestHandshakeByDefault(t *testing.T) {
	policy := &mesh.GrantPolicy{ConsumerRoutes: mesh.ConsumersDenied}
	cart := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	for _, test := range []struct {
		namespace, service error
		unknown            bool
	}{{mesh.ErrNotFound, mesh.ErrNotFound, false}, {mesh.ErrUnknown, mesh.ErrNotFound, true}, {mesh.ErrNotFound, mesh.ErrUnknown, true}} {
		world := mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			if read.Kind == mesh.ReadNamespace {
				return mesh.Answer{Err: test.namespace}
			}
			return mesh.Answer{Err: test.service}
		})
		refusal, unknown, err := policy.Handshake(world, cart, "faces", mesh.HTTPRoute)
		if err != nil || unknown != test.unknown || (refusal.By == mesh.RefusedByDefault) == unknown {
			t.Errorf("%+v: %+v, unknown %t, %v", test, refusal, unknown, err)
		}
	}
}

// TestHandshakeUnknown: whether a selector selects a namespace that is unknown is not said of it.
func TestHandshakeUnknown(t *testing.T) {
	service := &mesh.Service{}
	service.ConsumerRoutes, service.ConsumerAnnotations = "deny", annotated(t, "tenant=gold", "GRPCRoute")
	cart := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	for why, want := range map[error][]string{
		mesh.ErrNotFound: {mesh.ConsumerRoutesFromAnnotation, mesh.ConsumerRouteKindsAnnotation},
		mesh.ErrUnknown:  {mesh.ConsumerRouteKindsAnnotation},
	} {
		world := mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			if read.Kind == mesh.ReadNamespace {
				return mesh.Answer{Err: why}
			}
			return mesh.Answer{Service: service}
		})
		refusal, unknown, err := new(mesh.GrantPolicy).Handshake(world, cart, "faces", mesh.HTTPRoute)
		var also []string
		for _, r := range refusal.Also {
			also = append(also, r.Setting)
		}
		if err != nil || unknown || refusal.Setting != mesh.ConsumerRoutesLabel || !slices.Equal(also, want) {
			t.Errorf("%v: refused by %s, and %q; want %q (%t, %v)", why, refusal.Setting, also, want, unknown, err)
		}
	}
}
