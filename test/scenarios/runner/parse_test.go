package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

const route = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
`

// TestMistakes reads scenarios with mistakes: each is told with its line.
func TestMistakes(t *testing.T) {
	tests := map[string]struct{ archive, want string }{
		"nothing wanted": {"title\n", "s.txtar:1: no want.yaml: nothing would be checked"},
		"file name": {
			"title\n-- apply.yaml --\n" + route + "-- expect.yaml --\n-- want.yaml --\napply: [{verdict: admit}]\n",
			`s.txtar:6: file "expect.yaml": its name must end in one of [config.yaml cluster.yaml apply.yaml delete.yaml want.yaml]`,
		},
		"configuration": {
			"title\n-- config.yaml --\nmodes: strict\n-- want.yaml --\nstatus: []\n",
			`s.txtar:3: configuration: unknown field "modes"; did you mean "mode"?`,
		},
		"two configurations": {
			"title\n-- config.yaml --\n{}\n-- 2/config.yaml --\n{}\n-- want.yaml --\nstatus: []\n",
			`s.txtar:4: file "2/config.yaml": there is a configuration already`,
		},
		"broken document": {
			"title\n-- cluster.yaml --\n" + route + "---\n\nkind: {\n-- want.yaml --\nstatus: []\n",
			"s.txtar:8: broken YAML: did not find expected node content",
		},
		"no object": {
			"title\n-- apply.yaml --\nkind: HTTPRoute\n-- want.yaml --\napply: [{verdict: admit}]\n",
			"s.txtar:3: not a Kubernetes object: it needs apiVersion, kind and metadata.name\n" +
				"s.txtar:5: apply: 1 verdicts for the 0 documents at s.txtar:3",
		},
		"route in the cluster that is none": {
			"title\n-- cluster.yaml --\n" + route + "spec: {parentRefs: 1}\n-- want.yaml --\nstatus: []\n",
			"s.txtar:3: not a route: spec.parentRefs: found number, want array",
		},
		"annotation": {
			"title\n-- apply.yaml --\n" + route + `  annotations: {}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {scenario/dry-run: "yes"}}
-- want.yaml --
status: []
`,
			"s.txtar:5: broken YAML: did not find expected key\n" +
				`s.txtar:8: annotation scenario/dry-run: yes: want scenario/user: NAME, scenario/dry-run: "true" or scenario/server-side: "true"`,
		},
		"annotation elsewhere": {
			"title\n-- cluster.yaml --\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {scenario/user: dev}}}\n-- want.yaml --\nstatus: []\n",
			"s.txtar:3: annotation scenario/user has a meaning in apply.yaml only",
		},
		"key of want": {
			"title\n-- apply.yaml --\n" + route + "-- want.yaml --\nresults: []\n",
			"s.txtar:7: want.yaml: field results not found in type runner.wantFile",
		},
		"key of verdict": {
			"title\n-- apply.yaml --\n" + route + "-- want.yaml --\napply:\n\n- verdict: deny\n  rule: [parent-headless]\n",
			"s.txtar:10: want.yaml: field rule not found in type runner.applyWant",
		},
		"verdicts": {
			"title\n-- apply.yaml --\n" + route + "-- want.yaml --\napply:\n- verdict: admit\n- verdict: admit\n",
			"s.txtar:8: apply: 2 verdicts for the 1 documents at s.txtar:3",
		},
		"verdicts of nothing": {
			"title\n-- want.yaml --\napply:\n- verdict: admit\n",
			"s.txtar:4: apply: there is no apply.yaml before it whose verdicts these could be",
		},
		"verdict": {
			"title\n-- apply.yaml --\n" + route + "-- want.yaml --\napply:\n- verdict: allow\n  rules: [parent-headles]\n  warnings: [parent-group, no-such]\n",
			"s.txtar:8: verdict: \"allow\": want admit or deny\n" +
				"s.txtar:8: rules: unknown ID \"parent-headles\"\n" +
				"s.txtar:8: warnings: unknown ID \"no-such\"",
		},
		"what an admitted document cannot have, and a denied one": {
			"title\n-- apply.yaml --\n" + route + "---\n" + route + "-- want.yaml --\napply:\n- verdict: admit\n  rules: [parent-headless]\n- verdict: deny\n  object: {}\n",
			"s.txtar:12: rules: an admitted document has none that denied\n" +
				"s.txtar:14: object: there is none after a denial",
		},
		"nothing in want": {"title\n-- want.yaml --\n{}\n", "s.txtar:3: want.yaml has neither apply, delete nor status"},
		"route of status": {
			"title\n-- cluster.yaml --\n" + route + "-- want.yaml --\nstatus:\n- route: HTTPRoute/cart\n  entries: []\n- route: HTTPRoute/shop/card\n  entries: []\n- route: HTTPRoute/shop/cart\n",
			"s.txtar:8: route: \"HTTPRoute/cart\": want KIND/NAMESPACE/NAME, such as HTTPRoute/shop/cart\n" +
				"s.txtar:10: route: no document before is HTTPRoute shop/card\n" +
				"s.txtar:12: entries: missing; [] says that there are none",
		},
		"entry": {
			"title\n-- cluster.yaml --\n" + route + "-- want.yaml --\nstatus:\n- route: HTTPRoute/shop/cart\n  entries:\n  - {parent: {name: cart}}\n  - {accepted: no}\n",
			"s.txtar:8: entries[0]: it needs accepted, resolved or partial: an entry without a condition says nothing\n" +
				`s.txtar:8: entries[1]: a condition is "True", "False" or "Unknown", not "no"`,
		},
		"deletions": {
			"title\n-- delete.yaml --\n" + route + "-- want.yaml --\ndelete: [[], []]\n",
			"s.txtar:7: delete: want a list of warnings for each document of the delete.yaml before it",
		},
		"definition of ServiceImport": {
			"title\n-- apply.yaml --\n" + route + "-- delete.yaml --\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: serviceimports.multicluster.x-k8s.io}}\n-- want.yaml --\nstatus: []\n",
			"s.txtar:7: the definition of ServiceImport can only be deleted, before anything is applied",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := runner.Parse("s", "s.txtar", []byte(test.archive)).Mistakes
			if err == nil {
				t.Fatal("no mistake was found")
			}
			if diff := cmp.Diff(strings.Split(test.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestParse reads one with files under several names.
func TestParse(t *testing.T) {
	const archive = `A title
and more
-- 1-config.yaml --
mode: warn
-- before.cluster.yaml --
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
-- 2/apply.yaml --
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: cart
  annotations: {scenario/user: dev, scenario/dry-run: "true", scenario/server-side: "true"}
-- 2/want.yaml --
apply:
- {verdict: deny, rules: [parent-headless, parent-headless], warnings: [], message: x}
-- delete.yaml --
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
`
	s := runner.Parse("a/b", "b.txtar", []byte(archive))
	if s.Mistakes != nil {
		t.Fatal(s.Mistakes)
	}
	var kinds []runner.StepKind
	for _, step := range s.Steps {
		kinds = append(kinds, step.Kind)
	}
	if diff := cmp.Diff([]runner.StepKind{runner.Cluster, runner.Apply, runner.Want, runner.Delete}, kinds); diff != "" {
		t.Error(diff)
	}
	if s.Title() != "A title" || s.Config.Mode != "warn" {
		t.Errorf("title %q, mode %q", s.Title(), s.Config.Mode)
	}
	document := s.Steps[1].Documents[0]
	type summary struct {
		User               string
		DryRun, ServerSide bool
		JSON               string
		Want               *runner.Verdict
	}
	got := summary{document.User, document.DryRun, document.ServerSide, string(document.JSON), document.Want}
	want := summary{
		"dev", true, true,
		`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"cart","namespace":"default"}}`,
		&runner.Verdict{
			Origin: manifest.Origin{File: "b.txtar", Line: 15}, Deny: true,
			Rules: []string{"parent-headless"}, Warnings: []string{}, Message: "x",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoad(t *testing.T) {
	if _, err := runner.Load(t.TempDir()); err == nil {
		t.Error("a folder without scenarios can be used")
	}
	if _, err := runner.Load("no-such-folder"); err == nil {
		t.Error("a folder that does not exist can be used")
	}
}
