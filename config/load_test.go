package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

const header = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"

// full sets every field, as a user would write it.
const full = header + `mode: warn
mesh: cilium
routeKinds: [HTTPRoute, GRPCRoute]
grants:
  default: producer
  consumerRoutes: deny
  parentKinds: [Mesh.acme.example]
  selectors:
  - namespaceSelector: {matchLabels: {tier: platform}}
    roles: [producer, consumer]
    routeKinds: [HTTPRoute]
  - namespaceSelector: {}
    roles: [consumer]
rules: {parent-headless: off, grant-missing: "audit"}
mutations: {backend-port: off, parent-group: on}
parents: {allowedKinds: [ServiceEntry.networking.istio.io], routeKinds: {ServiceEntry.networking.istio.io: [HTTPRoute, TCPRoute]}}
exemptions: {usernames: [dev], groups: ["system:masters"], namespaces: [kube-system]}
status: {controllerName: example.net/our/guard, formerControllerNames: [gammaguard.dev/guard], conflictReason: RouteConflict}
preview: true
reports: openreports
`

// TestKindsNearOthers: kinds that meshes have besides those of the default are not taken for misspellings.
func TestKindsNearOthers(t *testing.T) {
	for _, kind := range []string{
		"DestinationRule.networking.istio.io", "Gateway.networking.istio.io", "Hostname.networking.istio.io", "ProxyConfig.networking.istio.io", "Sidecar.networking.istio.io",
		"VirtualService.networking.istio.io", "WorkloadEntry.networking.istio.io", "WorkloadGroup.networking.istio.io", "ServiceCIDR.networking.k8s.io",
		"Mesh.kuma.io", "MeshExternalService.kuma.io", "MeshGateway.kuma.io", "MeshMultiZoneService.kuma.io", "MeshMetric.kuma.io", "MeshTrace.kuma.io", "ServiceInsight.kuma.io",
		"HTTPRoute.policy.linkerd.io", "ServerAuthorization.policy.linkerd.io", "Service.policy.linkerd.io", "Service.serving.knative.dev", "ServiceEntry.acme.example",
	} {
		if _, err := Load([]byte(header + "grants: {parentKinds: [" + kind + "]}\n")); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// otherMeshParents are the default of grants.parentKinds.
// TestParentKindsOfMeshes: every parent kind of every profile needs a grant by default.
func TestParentKindsOfMeshes(t *testing.T) {
	for _, profile := range mesh.Profiles() {
		for _, kind := range profile.ParentKinds.Value {
			for _, name := range append(mesh.ProfileNames(), "") {
				if !slices.Contains(Default(WithMesh(name)).Grants.ParentKinds, kind) {
					t.Errorf("mesh %q: %s of %s is not in the default of grants.parentKinds", name, kind, profile.Title)
				}
			}
		}
	}
}

var otherMeshParents = []string{"ServiceEntry.networking.istio.io", "MeshService.kuma.io", "EgressNetwork.policy.linkerd.io", "Server.policy.linkerd.io", "UnmeshedNetwork.policy.linkerd.io"}

func TestLoad(t *testing.T) {
	typeMeta := metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}
	defaults := GuardConfiguration{
		TypeMeta:   typeMeta,
		Mode:       mesh.Enforce,
		RouteKinds: []mesh.RouteKind{"GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute", "UDPRoute"},
		Grants:     Grants{Default: mesh.GrantNone, ConsumerRoutes: mesh.ConsumersAllowed, ParentKinds: otherMeshParents},
		Status:     Status{ControllerName: "gammaguard.dev/guard", ConflictReason: "Conflicted"},
		Reports:    NoReports,
	}
	with := func(change func(*GuardConfiguration)) GuardConfiguration {
		c := defaults
		change(&c)
		return c
	}
	for _, test := range []struct {
		name, data string
		want       GuardConfiguration
	}{
		{"defaults", header, defaults},
		{"JSON", `{"apiVersion":"gammaguard.dev/v1alpha1","kind":"GuardConfiguration"}`, defaults},
		{"comments and document marks", "# ours\n---\n# more\n" + header + "---\n# the end\n", defaults},
		{"a mesh", header + "mesh: linkerd\n", with(func(c *GuardConfiguration) {
			c.Mesh, c.RouteKinds = mesh.Linkerd, []mesh.RouteKind{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"}
			c.Status.ConflictReason = "RouteReasonConflicted"
		})},
		{"null is left out", header + "mode: ~\nrouteKinds:\ngrants:\n", defaults},
		{"full", full, GuardConfiguration{
			TypeMeta:   typeMeta,
			Mode:       mesh.Warn,
			Mesh:       mesh.Cilium,
			RouteKinds: []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
			Grants: Grants{Default: mesh.GrantProducer, ConsumerRoutes: mesh.ConsumersDenied, ParentKinds: []string{"Mesh.acme.example"}, Selectors: []GrantSelector{
				{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "platform"}},
					Roles:             []mesh.Role{mesh.Producer, mesh.Consumer},
					RouteKinds:        []mesh.RouteKind{mesh.HTTPRoute},
				},
				{NamespaceSelector: &metav1.LabelSelector{}, Roles: []mesh.Role{mesh.Consumer}},
			}},
			Rules:     map[string]RuleAction{"parent-headless": "off", "grant-missing": "audit"},
			Mutations: map[string]Switch{"backend-port": Off, "parent-group": On},
			Preview:   true,
			Reports:   OpenReports,
			Parents: Parents{
				AllowedKinds: []string{"ServiceEntry.networking.istio.io"},
				RouteKinds:   map[string][]mesh.RouteKind{"ServiceEntry.networking.istio.io": {mesh.HTTPRoute, mesh.TCPRoute}},
			},
			Exemptions: Exemptions{Usernames: []string{"dev"}, Groups: []string{"system:masters"}, Namespaces: []string{"kube-system"}},
			Status:     Status{ControllerName: "example.net/our/guard", FormerControllerNames: []string{"gammaguard.dev/guard"}, ConflictReason: "RouteConflict"},
		}},
		{"no reports", header + "reports: off\n", defaults},
		{"no reports, as it was written before", header + "reports: \"\"\n", defaults},
		{
			"off as YAML reads it", header + "rules: {parent-headless: false}\nmutations: {backend-port: false, backend-group: true}\n",
			with(func(c *GuardConfiguration) {
				c.Rules = map[string]RuleAction{"parent-headless": "off"}
				c.Mutations = map[string]Switch{"backend-port": Off, "backend-group": On}
			}),
		},
		{
			"off in quotes", header + "rules: {parent-headless: 'off'}\nmutations: {backend-port: \"off\", backend-group: 'on'}\n",
			with(func(c *GuardConfiguration) {
				c.Rules = map[string]RuleAction{"parent-headless": "off"}
				c.Mutations = map[string]Switch{"backend-port": Off, "backend-group": On}
			}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Load([]byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOverride: an override counts before the defaults that follow from it.
func TestOverride(t *testing.T) {
	got, err := Load([]byte(header+"mesh: istio\n"), WithMesh(mesh.Kuma))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(WithMesh(mesh.Kuma)), got); diff != "" || got.Mesh != mesh.Kuma || !cmp.Equal(got.RouteKinds, []mesh.RouteKind{mesh.HTTPRoute}) {
		t.Errorf("%+v (-Default +loaded):\n%s", got, diff)
	}
	if kept, err := Load([]byte(header+"mesh: istio\n"), WithMesh("")); err != nil || kept.Mesh != mesh.Istio {
		t.Errorf("without a name: %+v, %v", kept, err)
	}
}

func TestDefaultIsAnEmptyFile(t *testing.T) {
	got, err := Load([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("(-Default +loaded):\n%s", diff)
	}
}

// TestDocumentedDefault: the file that the documentation shows as the default is.
func TestDocumentedDefault(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	got, err := Load([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-default +documented):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"nothing", "", "the first YAML document is empty, expected one with apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration"},
		{"only comments", "# later\n", "the first YAML document is empty, expected one with apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration"},
		{"second document only", "---\n---\n" + header, "the first YAML document is empty, expected one with apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration"},
		{"two documents", header + "---\n" + header, "found 2 YAML documents, expected one"},
		{"two documents, the first one ended", header + "...\n" + header, "yaml: line 3: did not find expected <document start>"},
		{"no YAML", "mode: [", "yaml: line 1: did not find expected node content"},
		{"a list", "- a\n", "the document: must be a mapping, not array"},
		{"no header", "mode: warn\n", "[apiVersion: Required value: must be gammaguard.dev/v1alpha1, kind: Required value: must be GuardConfiguration]"},
		{
			"another version", "apiVersion: gammaguard.dev/v2\nkind: GuardConfiguration\nfuture: 1\n",
			`apiVersion: Unsupported value: "gammaguard.dev/v2": supported values: "gammaguard.dev/v1alpha1"`,
		},
		{
			"another kind", "apiVersion: gammaguard.dev/v1alpha1\nkind: Pod\n",
			`kind: Unsupported value: "Pod": supported values: "GuardConfiguration"`,
		},
		{"a header of the wrong type", "apiVersion: 1\nkind: GuardConfiguration\n", "apiVersion: must be a string, not number"},
		{"an unknown field", header + "rulez: {}\n", `unknown field "rulez"; did you mean "rules"?`},
		{"a field of no other name", header + "extra: {}\n", `unknown field "extra"; the fields here are apiVersion, exemptions, grants, kind, mesh, mode, mutations, parents, preview, reports, routeKinds, rules, status`},
		{"a field with a dot", header + "grants: {a.b: c, grants: d}\n", `[unknown field "grants.a.b", unknown field "grants.grants"; the fields here are consumerRoutes, contact, default, parentKinds, selectors]`},
		{"a field of the command", header + "failOn: warn\n", `unknown field "failOn"; it is a field of .gammaguard.yaml`},
		{"another case", header + "Mode: warn\n", `unknown field "Mode"; did you mean "mode"?`},
		{
			"unknown fields within", header + "grants: {selectors: [{namespaceSelector: {matchLabel: {}}, roles: [producer], role: x}]}\n",
			`[unknown field "grants.selectors[0].namespaceSelector.matchLabel"; did you mean "matchLabels"?, unknown field "grants.selectors[0].role"; did you mean "roles"?]`,
		},
		{"an unknown mesh", header + "mesh: Istio\n", `mesh: Unsupported value: "Istio": supported values: "cilium", "istio", "kuma", "linkerd"`},
		{"a mesh with a word for a version", header + "mesh: kuma@latest\n", `mesh: Invalid value: "kuma@latest": after the @ must be a version, such as kuma@2.14`},
		{"an unknown mesh with a version", header + "mesh: acme@2.13\n", `mesh: Unsupported value: "acme@2.13": supported values: "cilium", "istio", "kuma", "linkerd"`},
		{"a field twice", header + "mode: warn\nmode: audit\n", `yaml: unmarshal errors: line 4: key "mode" already set in map`},
		{"a field twice, JSON", `{"apiVersion":"gammaguard.dev/v1alpha1","kind":"GuardConfiguration","mode":"warn","mode":"warn"}`, `yaml: unmarshal errors: line 1: key "mode" already set in map`},
		{"a mode of the wrong type", header + "mode: 1\n", "mode: must be a string, not number"},
		{"roles of the wrong type", header + "grants: {selectors: {}}\n", "grants.selectors: must be a list, not object"},
		{"rules of the wrong type", header + "rules: [parent-headless]\n", "rules: must be a mapping, not array"},
		{"grants of the wrong type", header + "grants: none\n", "grants: must be a mapping, not string"},
		{"reports", header + "reports: policyreport\n", `reports: Unsupported value: "policyreport": supported values: "off", "openreports"`},
		{
			"kinds without effect", header + "grants: {parentKinds: [gateway.gateway.networking.k8s.io, A.b, ListenerSet.gateway.networking.k8s.io, ServiceImport.multicluster.x-k8s.io, service.core, a.b]}\n",
			`[grants.parentKinds[0]: Invalid value: "gateway.gateway.networking.k8s.io": has no effect: routes on Gateways and ListenerSets do not reach gammaguard, ` +
				`grants.parentKinds[2]: Invalid value: "ListenerSet.gateway.networking.k8s.io": has no effect: routes on Gateways and ListenerSets do not reach gammaguard, ` +
				`grants.parentKinds[3]: Invalid value: "ServiceImport.multicluster.x-k8s.io": has no effect: this kind needs a grant in any case, ` +
				`grants.parentKinds[4]: Invalid value: "service.core": has no effect: this kind needs a grant in any case, ` +
				`grants.parentKinds[5]: Duplicate value: "a.b"]`,
		},
		{
			"misspelled kinds", header + "grants: {parentKinds: [MeshServce.kuma.io, serviceentries.networking.istio.io, EgressNetwork.policy.linkerd.oi, server.policy.linkerd.io, Hostname.networking.istio.io]}\n",
			`[grants.parentKinds[0]: Unsupported value: "MeshServce.kuma.io": unknown kind; did you mean "MeshService.kuma.io"?, ` +
				`grants.parentKinds[1]: Unsupported value: "serviceentries.networking.istio.io": unknown kind; did you mean "ServiceEntry.networking.istio.io"?, ` +
				`grants.parentKinds[2]: Unsupported value: "EgressNetwork.policy.linkerd.oi": unknown kind; did you mean "EgressNetwork.policy.linkerd.io"?]`,
		},
		{
			"misspelled kinds that routes may have", header + "parents: {allowedKinds: [Servers.policy.linkerd.io], routeKinds: {Servers.policy.linkerd.io: [HTTPRoute]}}\n",
			`[parents.allowedKinds[0]: Unsupported value: "Servers.policy.linkerd.io": unknown kind; did you mean "Server.policy.linkerd.io"?, ` +
				`parents.routeKinds[Servers.policy.linkerd.io]: Unsupported value: "Servers.policy.linkerd.io": unknown kind; did you mean "Server.policy.linkerd.io"?]`,
		},
		{
			"allowed kinds without effect", header + "parents: {allowedKinds: [ServiceImport.multicluster.x-k8s.io, Gateway.gateway.networking.k8s.io]}\nrules: {parent-kind-not-allowed: off}\n",
			`[parents.allowedKinds[0]: Invalid value: "ServiceImport.multicluster.x-k8s.io": has no effect: this kind is allowed in any case, ` +
				`parents.allowedKinds[1]: Invalid value: "Gateway.gateway.networking.k8s.io": has no effect: routes on Gateways and ListenerSets do not reach gammaguard, ` +
				`parents.allowedKinds: Invalid value: ["ServiceImport.multicluster.x-k8s.io","Gateway.gateway.networking.k8s.io"]: has no effect while the rule parent-kind-not-allowed is off]`,
		},
		{
			"the same twice", header + "exemptions: {usernames: [a, a], groups: [b, b], namespaces: [c, c]}\nstatus: {formerControllerNames: [a/b, a/b]}\n",
			`[exemptions.usernames[1]: Duplicate value: "a", exemptions.groups[1]: Duplicate value: "b", exemptions.namespaces[1]: Duplicate value: "c", ` +
				`status.formerControllerNames[1]: Duplicate value: "a/b"]`,
		},
		{"a mode", header + "mode: deny\n", `mode: Unsupported value: "deny": supported values: "enforce", "warn", "audit"`},
		{
			"route kinds", header + "routeKinds: [HTTPRoute, Gateway, HTTPRoute]\n",
			`[routeKinds[1]: Unsupported value: "Gateway": supported values: "GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute", "UDPRoute", routeKinds[2]: Duplicate value: "HTTPRoute"]`,
		},
		{"no route kinds", header + "routeKinds: []\n", "routeKinds: Required value: omit it to select all kinds"},
		{"a grant", header + "grants: {default: some}\n", `grants.default: Unsupported value: "some": supported values: "none", "producer", "consumer", "all"`},
		{
			"an empty selector", header + "grants: {selectors: [{}]}\n",
			"[grants.selectors[0].namespaceSelector: Required value: use {} to select all namespaces, " +
				"grants.selectors[0].roles: Required value: must list at least one role]",
		},
		{
			"a bad selector", header + "grants: {selectors: [{namespaceSelector: {matchExpressions: [{key: a b, operator: In}]}, roles: [boss], routeKinds: []}]}\n",
			"[grants.selectors[0].namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', " +
				`grants.selectors[0].namespaceSelector.matchExpressions[0].key: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), ` +
				`grants.selectors[0].roles[0]: Unsupported value: "boss": supported values: "producer", "consumer", ` +
				"grants.selectors[0].routeKinds: Required value: omit it to select all kinds]",
		},
		{
			"a misspelled rule", header + "rules: {parent-headles: warn}\n",
			`rules[parent-headles]: Unsupported value: "parent-headles": unknown rule; did you mean "parent-headless"?`,
		},
		{"a mutation among the rules", header + "rules: {parent-group: on}\n", `rules[parent-group]: Invalid value: "parent-group": is a mutation: set it in mutations`},
		{"a rule among the mutations", header + "mutations: {parent-headless: warn}\n", `mutations[parent-headless]: Invalid value: "parent-headless": is a rule: set it in rules`},
		{"a finding of no rule", header + "rules: {schema: off}\n", `rules[schema]: Invalid value: "schema": cannot be configured: it is no rule, but a finding about the input`},
		{"no such rule", header + "rules: {x: warn}\n", `rules[x]: Unsupported value: "x": unknown rule`},
		{
			"an action", header + "rules: {parent-headless: on, grant-missing: 3, parent-not-found: }\n",
			`[rules[grant-missing]: Unsupported value: "3": supported values: "deny", "warn", "audit", "off", ` +
				`rules[parent-headless]: Unsupported value: "on": supported values: "deny", "warn", "audit", "off", ` +
				`rules[parent-not-found]: Unsupported value: "null": supported values: "deny", "warn", "audit", "off"]`,
		},
		{
			"mutations", header + "mutations: {backend-prt: off, x: on, parent-group: warn}\n",
			`[mutations[backend-prt]: Unsupported value: "backend-prt": unknown mutation; did you mean "backend-port"?, ` +
				`mutations[parent-group]: Unsupported value: "warn": supported values: "on", "off", ` +
				`mutations[x]: Unsupported value: "x": unknown mutation, valid values: backend-group, backend-port, parent-group, parent-kind, parent-port, parent-section]`,
		},
		{
			"allowed kinds", header + "parents: {allowedKinds: [ServiceEntry, ServiceEntry., .istio.io, A.b c]}\n",
			`[parents.allowedKinds[0]: Invalid value: "ServiceEntry": must be Kind.group, for example ServiceEntry.networking.istio.io, ` +
				`parents.allowedKinds[1]: Invalid value: "ServiceEntry.": must be Kind.group, for example ServiceEntry.networking.istio.io, ` +
				`parents.allowedKinds[2]: Invalid value: ".istio.io": must be Kind.group, for example ServiceEntry.networking.istio.io, ` +
				`parents.allowedKinds[3]: Invalid value: "A.b c": must be Kind.group, for example ServiceEntry.networking.istio.io]`,
		},
		{
			"route kinds of parents", header + "parents: {allowedKinds: [A.b], routeKinds: {A.b: [], C.d: [HTTPRoute], E: [Route]}}\n",
			`[parents.routeKinds[A.b]: Required value: omit it to select all kinds, ` +
				`parents.routeKinds[C.d]: Invalid value: "C.d": has no effect: parents.allowedKinds does not list it, ` +
				`parents.routeKinds[E]: Invalid value: "E": must be Kind.group, for example ServiceEntry.networking.istio.io, ` +
				`parents.routeKinds[E]: Invalid value: "E": has no effect: parents.allowedKinds does not list it, ` +
				`parents.routeKinds[E][0]: Unsupported value: "Route": supported values: "GRPCRoute", "HTTPRoute", "TLSRoute", "TCPRoute", "UDPRoute"]`,
		},
		{
			"route kinds of parents without effect", header + "parents: {routeKinds: {A.b: [HTTPRoute]}}\nrules: {parent-kind-not-allowed: off}\n",
			`parents.routeKinds: Invalid value: {"A.b":["HTTPRoute"]}: has no effect while the rule parent-kind-not-allowed is off`,
		},
		{"consumer routes", header + "grants: {consumerRoutes: refuse}\n", `grants.consumerRoutes: Unsupported value: "refuse": supported values: "allow", "deny"`},
		{
			"exemptions", header + "exemptions: {usernames: [''], groups: [a, ''], namespaces: [Shop]}\n",
			`[exemptions.usernames[0]: Required value, exemptions.groups[1]: Required value, exemptions.namespaces[0]: Invalid value: "Shop": ` +
				`a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character ` +
				`(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')]`,
		},
		{
			"a long contact", header + "grants: {contact: " + strings.Repeat("é", 101) + "}\n",
			`grants.contact: Invalid value: "` + strings.Repeat("é", 101) + `": must be one line of at most 100 printable characters`,
		},
		{
			"contact", header + "grants: {contact: \"a\\nb\"}\n",
			`grants.contact: Invalid value: "a\nb": must be one line of at most 100 printable characters`,
		},
		{
			"status", header + "status: {controllerName: gammaguard.dev, formerControllerNames: [a/b, x.dev/y, gammaguard.dev], conflictReason: route conflict}\n",
			`[status.controllerName: Invalid value: "gammaguard.dev": must be a domain and a path of at most 253 characters, for example gammaguard.dev/guard, ` +
				`status.formerControllerNames[2]: Invalid value: "gammaguard.dev": must be a domain and a path of at most 253 characters, for example gammaguard.dev/guard, ` +
				`status.formerControllerNames[2]: Invalid value: "gammaguard.dev": is the current controllerName, ` +
				`status.conflictReason: Invalid value: "route conflict": must be a condition reason: one CamelCase word of at most 1024 characters, for example Conflicted]`,
		},
		{
			"everything at once", header + "extra: 1\nmode: warned\nrules: {nope: deny}\n",
			`[unknown field "extra"; the fields here are apiVersion, exemptions, grants, kind, mesh, mode, mutations, parents, preview, reports, routeKinds, rules, status, mode: Unsupported value: "warned": supported values: "enforce", "warn", "audit", rules[nope]: Unsupported value: "nope": unknown rule]`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Load([]byte(test.data))
			if err == nil {
				t.Fatalf("no error, but %+v", c)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	good, bad, missing := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "missing.yaml")
	for path, data := range map[string]string{good: full, bad: header + "mode: on\n"} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := LoadFile(good); err != nil || c.Mode != mesh.Warn {
		t.Errorf("good file: got %+v, %v", c, err)
	}
	for path, want := range map[string]string{
		bad:     "configuration " + bad + ": mode: must be a string, not bool",
		missing: "configuration: open " + missing + ": no such file or directory",
	} {
		if _, err := LoadFile(path); err == nil || err.Error() != want {
			t.Errorf("got error %v\nwant %s", err, want)
		}
	}
}
