package mesh_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
)

func namespace(set map[string]string) *mesh.Namespace {
	return &mesh.Namespace{Name: "shop", Labels: set}
}

func TestNamespacePolicy(t *testing.T) {
	grants := []string{"none", "producer", "consumer", "all"}
	modes := []string{"enforce", "warn", "audit"}
	words := []string{"deny", "allow"}
	for name, test := range map[string]struct {
		labels map[string]string
		want   mesh.LabelPolicy
		errs   []mesh.LabelError
	}{
		"no labels":         {nil, mesh.LabelPolicy{}, nil},
		"other labels":      {map[string]string{"grant": "all", "gammaguard.dev/grants": "all"}, mesh.LabelPolicy{}, nil},
		"none":              {map[string]string{mesh.GrantLabel: "none"}, mesh.LabelPolicy{Grant: mesh.GrantNone}, nil},
		"producer":          {map[string]string{mesh.GrantLabel: "producer"}, mesh.LabelPolicy{Grant: mesh.GrantProducer}, nil},
		"consumer":          {map[string]string{mesh.GrantLabel: "consumer"}, mesh.LabelPolicy{Grant: mesh.GrantConsumer}, nil},
		"all":               {map[string]string{mesh.GrantLabel: "all"}, mesh.LabelPolicy{Grant: mesh.GrantAll}, nil},
		"grant in capitals": {map[string]string{mesh.GrantLabel: "Producer"}, mesh.LabelPolicy{Grant: mesh.GrantNone}, []mesh.LabelError{{Key: mesh.GrantLabel, Value: "Producer", CountsAs: "none", Known: grants}}},
		"empty grant":       {map[string]string{mesh.GrantLabel: ""}, mesh.LabelPolicy{Grant: mesh.GrantNone}, []mesh.LabelError{{Key: mesh.GrantLabel, CountsAs: "none", Known: grants}}},
		"enforce":           {map[string]string{mesh.ModeLabel: "enforce"}, mesh.LabelPolicy{Mode: mesh.Enforce}, nil},
		"warn":              {map[string]string{mesh.ModeLabel: "warn"}, mesh.LabelPolicy{Mode: mesh.Warn}, nil},
		"audit":             {map[string]string{mesh.ModeLabel: "audit"}, mesh.LabelPolicy{Mode: mesh.Audit}, nil},
		"unknown mode":      {map[string]string{mesh.ModeLabel: "off"}, mesh.LabelPolicy{Mode: mesh.Enforce}, []mesh.LabelError{{Key: mesh.ModeLabel, Value: "off", CountsAs: "enforce", Known: modes}}},
		"allow":             {map[string]string{mesh.ConsumerRoutesLabel: "allow"}, mesh.LabelPolicy{ConsumerRoutes: mesh.ConsumersAllowed}, nil},
		"deny":              {map[string]string{mesh.ConsumerRoutesLabel: "deny"}, mesh.LabelPolicy{ConsumerRoutes: mesh.ConsumersDenied}, nil},
		"all wrong": {
			map[string]string{mesh.ConsumerRoutesLabel: "yes", mesh.ModeLabel: "x", mesh.GrantLabel: "true"},
			mesh.LabelPolicy{Grant: mesh.GrantNone, Mode: mesh.Enforce, ConsumerRoutes: mesh.ConsumersDenied},
			[]mesh.LabelError{
				{Key: mesh.GrantLabel, Value: "true", CountsAs: "none", Known: grants},
				{Key: mesh.ModeLabel, Value: "x", CountsAs: "enforce", Known: modes},
				{Key: mesh.ConsumerRoutesLabel, Value: "yes", CountsAs: "deny", Known: words},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := namespace(test.labels).Policy()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
			var found []mesh.LabelError
			for _, err := range errs {
				found = append(found, *err.(*mesh.LabelError)) //nolint:errorlint // nothing wraps it
			}
			if diff := cmp.Diff(test.errs, found); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
	if policy, errs := (*mesh.Namespace)(nil).Policy(); policy != (mesh.LabelPolicy{}) || errs != nil {
		t.Errorf("a namespace that does not exist says %+v, %v", policy, errs)
	}
	err := &mesh.LabelError{Key: mesh.GrantLabel, Value: "yes", CountsAs: "none", Known: grants}
	if got, want := err.Error(), `unknown value "yes" of label gammaguard.dev/grant: it counts as "none" (valid values: none, producer, consumer, all)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGrantPolicyCovers: other mesh parents count in any case, as Linkerd reads them.
func TestGrantPolicyCovers(t *testing.T) {
	p := mesh.GrantPolicy{ParentKinds: []string{"EgressNetwork.policy.linkerd.io"}}
	for kind, want := range map[string]bool{"EgressNetwork": true, "egressnetwork": true, "EGRESSNETWORK": true, "Egress": false, "": false} {
		group := "policy.linkerd.io"
		if got := p.Covers(&mesh.ParentRef{Group: &group, Kind: kind}); got != want {
			t.Errorf("kind %q: got %v, want %v", kind, got, want)
		}
	}
}

func TestGrantPolicyAllows(t *testing.T) {
	platform := labels.SelectorFromSet(labels.Set{"tier": "platform"})
	selectors := []mesh.GrantSelector{{Namespaces: platform, Roles: []mesh.Role{mesh.Producer}}}
	kinds := []mesh.GrantSelector{{Namespaces: platform, Roles: []mesh.Role{mesh.Producer, mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute}}}
	label := func(grant string, more ...string) *mesh.Namespace {
		all := map[string]string{mesh.GrantLabel: grant}
		for _, key := range more {
			all[key] = "platform"
		}
		return namespace(all)
	}
	tier := namespace(map[string]string{"tier": "platform"})
	for name, test := range map[string]struct {
		policy             mesh.GrantPolicy
		namespace          *mesh.Namespace
		kind               mesh.RouteKind
		producer, consumer bool
	}{
		"unlabeled, no default":             {mesh.GrantPolicy{}, namespace(nil), mesh.HTTPRoute, false, false},
		"unlabeled, default none":           {mesh.GrantPolicy{Default: mesh.GrantNone}, namespace(nil), mesh.HTTPRoute, false, false},
		"unlabeled, default producer":       {mesh.GrantPolicy{Default: mesh.GrantProducer}, namespace(nil), mesh.HTTPRoute, true, false},
		"unlabeled, default consumer":       {mesh.GrantPolicy{Default: mesh.GrantConsumer}, namespace(nil), mesh.HTTPRoute, false, true},
		"unlabeled, default all":            {mesh.GrantPolicy{Default: mesh.GrantAll}, namespace(nil), mesh.HTTPRoute, true, true},
		"label none":                        {mesh.GrantPolicy{}, label("none"), mesh.HTTPRoute, false, false},
		"label producer":                    {mesh.GrantPolicy{}, label("producer"), mesh.HTTPRoute, true, false},
		"label consumer":                    {mesh.GrantPolicy{}, label("consumer"), mesh.TCPRoute, false, true},
		"label all":                         {mesh.GrantPolicy{}, label("all"), mesh.UDPRoute, true, true},
		"label instead of the default":      {mesh.GrantPolicy{Default: mesh.GrantAll}, label("producer"), mesh.HTTPRoute, true, false},
		"none against the default":          {mesh.GrantPolicy{Default: mesh.GrantAll}, label("none"), mesh.HTTPRoute, false, false},
		"unknown against the default":       {mesh.GrantPolicy{Default: mesh.GrantAll}, label("al"), mesh.HTTPRoute, false, false},
		"empty against the default":         {mesh.GrantPolicy{Default: mesh.GrantAll}, label(""), mesh.HTTPRoute, false, false},
		"selector":                          {mesh.GrantPolicy{Selectors: selectors}, tier, mesh.TCPRoute, true, false},
		"selector that selects others":      {mesh.GrantPolicy{Selectors: selectors}, namespace(nil), mesh.TCPRoute, false, false},
		"selector adds to the label":        {mesh.GrantPolicy{Selectors: selectors}, label("consumer", "tier"), mesh.TCPRoute, true, true},
		"selector adds to the default":      {mesh.GrantPolicy{Default: mesh.GrantConsumer, Selectors: selectors}, tier, mesh.TCPRoute, true, true},
		"none beats a selector":             {mesh.GrantPolicy{Selectors: selectors}, label("none", "tier"), mesh.TCPRoute, false, false},
		"unknown is none, beats a selector": {mesh.GrantPolicy{Selectors: selectors}, label("Producer", "tier"), mesh.TCPRoute, false, false},
		"selector with kinds":               {mesh.GrantPolicy{Selectors: kinds}, tier, mesh.GRPCRoute, true, true},
		"selector with other kinds":         {mesh.GrantPolicy{Selectors: kinds}, tier, mesh.TCPRoute, false, false},
		"one of two selectors":              {mesh.GrantPolicy{Selectors: append(kinds[:1:1], selectors...)}, tier, mesh.TCPRoute, true, false},
		"selector for every namespace":      {mesh.GrantPolicy{Selectors: []mesh.GrantSelector{{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Consumer}}}}, namespace(nil), mesh.TCPRoute, false, true},
		"unknown namespace, default all":    {mesh.GrantPolicy{Default: mesh.GrantAll}, nil, mesh.HTTPRoute, true, true},
		"unknown namespace, no selector":    {mesh.GrantPolicy{Selectors: []mesh.GrantSelector{{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Producer}}}}, nil, mesh.HTTPRoute, false, false},
		"narrowed to the kind":              {mesh.GrantPolicy{}, narrowed(label("producer"), "TCPRoute, HTTPRoute"), mesh.HTTPRoute, true, false},
		"narrowed to the name of the kind":  {mesh.GrantPolicy{}, narrowed(label("producer"), "HTTPRoute"), mesh.LinkerdHTTPRoute, true, false},
		"narrowed to others":                {mesh.GrantPolicy{}, narrowed(label("all"), "TCPRoute"), mesh.HTTPRoute, false, false},
		"a narrowed default":                {mesh.GrantPolicy{Default: mesh.GrantAll}, narrowed(namespace(nil), "TCPRoute"), mesh.HTTPRoute, false, false},
		"a selector is not narrowed":        {mesh.GrantPolicy{Selectors: selectors}, narrowed(label("all", "tier"), "HTTPRoute"), mesh.TCPRoute, true, false},
		"unreadable beats a selector":       {mesh.GrantPolicy{Default: mesh.GrantAll, Selectors: selectors}, narrowed(label("all", "tier"), "TCPRoute,"), mesh.TCPRoute, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			producer := test.policy.Allows(test.namespace, mesh.Producer, test.kind)
			consumer := test.policy.Allows(test.namespace, mesh.Consumer, test.kind)
			if producer != test.producer || consumer != test.consumer {
				t.Errorf("producer %v, consumer %v; want %v, %v", producer, consumer, test.producer, test.consumer)
			}
		})
	}
}

// narrowed returns the namespace with the annotation for the kinds of its grant.
func narrowed(n *mesh.Namespace, kinds string) *mesh.Namespace {
	n.GrantKinds = &mesh.KindList{}
	if err := n.GrantKinds.UnmarshalText([]byte(kinds)); err != nil {
		panic(err)
	}
	return n
}

// Any labels yield a policy of known values, and an error for each that is not.
func FuzzNamespacePolicy(f *testing.F) {
	for _, value := range []string{"none", "producer", "consumer", "all", "", "ALL", "enforce", "deny", "allow", "\x00", "all "} {
		f.Add(value, value, value)
	}
	f.Fuzz(func(t *testing.T, grant, mode, consumers string) {
		policy, errs := namespace(map[string]string{mesh.GrantLabel: grant, mesh.ModeLabel: mode, mesh.ConsumerRoutesLabel: consumers}).Policy()
		wrong := 0
		for _, pair := range [][2]string{
			{grant, string(policy.Grant)}, {mode, string(policy.Mode)}, {consumers, string(policy.ConsumerRoutes)},
		} {
			if pair[0] != pair[1] {
				wrong++
			}
		}
		known := map[string]bool{"none": true, "producer": true, "consumer": true, "all": true}[string(policy.Grant)] &&
			map[string]bool{"enforce": true, "warn": true, "audit": true}[string(policy.Mode)] &&
			map[string]bool{"allow": true, "deny": true}[string(policy.ConsumerRoutes)]
		if !known || len(errs) != wrong {
			t.Errorf("grant %q, mode %q, consumer routes %q: %+v with errors %v", grant, mode, consumers, policy, errs)
		}
	})
}
