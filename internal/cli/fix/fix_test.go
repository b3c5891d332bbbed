package fix_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/fix"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// services are what the routes of the tests refer to.
const services = `
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: one}, spec: {ports: [{name: "true", port: 80}]}}
`

// jobs returns the mutations of all routes in the text.
func jobs(t *testing.T, text string) []fix.Job {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	known, errs := manifest.Read("services.yaml", []byte(services), "default")
	for _, object := range known {
		errs = append(errs, set.Put(object))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return mutations(text, set)
}

// mutations returns the mutations that need no other Services than these.
func mutations(text string, services mesh.Reader) (jobs []fix.Job) {
	objects, _ := manifest.Read("routes.yaml", []byte(text), "default")
	for _, object := range objects {
		if object.Route == nil {
			continue
		}
		if changes := mutate.Changes(object.Route, services, mutate.Options{MayRead: func(string) bool { return true }}); len(changes) > 0 {
			jobs = append(jobs, fix.Job{Object: object, Changes: changes})
		}
	}
	return jobs
}

func TestApply(t *testing.T) {
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			before, after := versions(test.diff)
			becomes(t, before, after)
		})
		t.Run(test.name+", CRLF and no newline at the end", func(t *testing.T) {
			before, after := versions(test.diff)
			crlf := strings.NewReplacer("\n", "\r\n")
			becomes(t, crlf.Replace(strings.TrimSuffix(before, "\n")), crlf.Replace(strings.TrimSuffix(after, "\n")))
		})
	}
}

// becomes applies all changes.
func becomes(t *testing.T, before, after string) {
	t.Helper()
	got, _, refused := fix.Apply(before, jobs(t, before))
	if err := errors.Join(slices.Concat(refused...)...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	if left := jobs(t, got); len(left) > 0 {
		t.Errorf("changes are left: %+v", left)
	}
}

// TestApplyPart: what cannot be edited keeps nothing else from it.
func TestApplyPart(t *testing.T) {
	text := head + "  parentRefs:\n  - kind: Service\n    name: one\n    group: |-\n      core\n  - {kind: Service, name: two}\n"
	got, _, refused := fix.Apply(text, jobs(t, text))
	if want := strings.Replace(text, "{kind: Service, name", `{kind: Service, group: "", name`, 1); got != want {
		t.Errorf("got\n%s", got)
	}
	if len(refused) != 1 || len(refused[0]) != 2 || refused[0][0] == nil || refused[0][1] != nil {
		t.Errorf("%v", refused)
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{{
		name: "an anchor that another object shares",
		text: `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: x}
  data: &ref {kind: Service, name: cart}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: a}
  spec: {parentRefs: [*ref]}
`,
		want: "ConfigMap default/x (line 4) cannot be edited on its own: it may share an anchor with another object",
	}, {
		name: "an anchored value that is used elsewhere",
		text: head + "  parentRefs: [{group: &g core, kind: Service, name: one}]\n  rules: [{name: *g}]\n",
		want: "HTTPRoute default/cart (line 1) cannot be edited on its own: it may share an anchor with another object",
	}, {
		name: "a value in a block of text",
		text: head + "  parentRefs:\n  - kind: Service\n    name: one\n    group: |-\n      core\n",
		want: "the value is not in a form that --fix can edit: write it on one line",
	}, {
		name: "no sibling to write behind",
		text: head + "  parentRefs:\n  - kind: >-\n      Service\n    name: |-\n      one\n",
		want: "no field on a single line to insert it after",
	}} {
		t.Run(test.name, func(t *testing.T) {
			got, _, refused := fix.Apply(test.text, jobs(t, test.text))
			err := refused[0][0]
			if err == nil || got != test.text {
				t.Fatalf("want an error, got\n%s", got)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

// FuzzApply: whatever the text, Apply ends, and what it returns has been verified:
// no mutation is left to be made.
func FuzzApply(f *testing.F) {
	for _, test := range cases {
		before, _ := versions(test.diff)
		f.Add(before)
	}
	none := manifest.NewSet(manifest.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		todo := mutations(text, none)
		fixed, _, refused := fix.Apply(text, todo)
		if errors.Join(slices.Concat(refused...)...) != nil {
			return
		}
		if left := mutations(fixed, none); len(left) > 0 {
			t.Errorf("changes are left in %q: %+v", fixed, left[0].Changes)
		}
		if len(todo) == 0 && fixed != text {
			t.Errorf("changed for no reason: %q", fixed)
		}
	})
}
