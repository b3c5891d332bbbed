package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffOfUnreadUsers: what only a kustomization has that cannot be read is neither gone nor new, whichever version has that, and files of a directory
// are the directory's as long as nothing is made of them.
func TestDiffOfUnreadUsers(t *testing.T) {
	const (
		remote = "https://example.com/base?ref=v1"
		still  = " is not compared: it is still there, but "
		failed = ", which is not compared\n"
		more   = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: more, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{matches: [{path: {value: /more}}], backendRefs: [{name: web-v2, port: 80}]}]}}` + "\n"
	)
	remove := func(path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name           string
		before, change func()
		code           int
		want, errs     string
	}{
		{"an overlay of a file elsewhere", nil, func() { put(t, "lab/kustomization.yaml", "resources: [../plain/web.yaml]\n") }, ExitUsage, "", "kustomization lab: not compared: lab/kustomization.yaml:1: resources: ../plain/web.yaml is a file outside of"},
		{"a kustomization above of all files, and one that is not there", nil, func() { put(t, "kustomization.yaml", "resources: [plain/web.yaml, plain/none.yaml]\n") }, ExitUsage, "", "kustomization .: not compared: "},
		{"a kustomization above of a part of the files", func() { put(t, "plain/more.yaml", more) }, func() { put(t, "kustomization.yaml", "resources: [plain/web.yaml, plain/none.yaml]\n") }, ExitUsage, "", "kustomization .: not compared: "},
		{"which is corrected", func() {
			put(t, "plain/more.yaml", more)
			put(t, "kustomization.yaml", "resources: [plain/web.yaml, plain/none.yaml]\n")
		}, func() { put(t, "kustomization.yaml", "resources: [plain/web.yaml, plain/more.yaml]\n") }, ExitClean, "note: directory HEAD:plain is not compared: kustomization HEAD:. has files of it, and is not compared, either\n", ""},
		{"a file that is renamed, and not where it is listed", func() {
			put(t, "plain/more.yaml", more)
			put(t, "kustomization.yaml", "resources: [plain/web.yaml, plain/more.yaml]\n")
		}, func() { remove("plain/more.yaml"); put(t, "plain/less.yaml", more) }, ExitUsage, "note: directory plain is not compared: kustomization . has files of it, and is not compared, either\n", "kustomization .: not compared: "},
		{"a new one with what is remote", nil, func() { put(t, "cluster/kustomization.yaml", "resources: [../prod, '"+remote+"']\n") }, ExitClean, "note: kustomization prod" + still + "only kustomization cluster uses it" + failed, ""},
		{"which goes", func() { put(t, "cluster/kustomization.yaml", "resources: [../prod, '"+remote+"']\n") }, func() { remove("cluster") }, ExitClean, "note: kustomization prod is not compared: the base has it too, but only kustomization HEAD:cluster uses it" + failed, ""},
		{"a new one without its patch", nil, func() { put(t, "cluster/kustomization.yaml", "resources: [../prod]\npatches: [{path: none.yaml}]\n") }, ExitUsage, "note: kustomization prod" + still + "only kustomization cluster uses it" + failed, "kustomization cluster: not compared: "},
		{"one that could be read", func() { put(t, "cluster/kustomization.yaml", "resources: [../test]\n") }, func() { put(t, "cluster/kustomization.yaml", "resources: [../test, ../prod, none.yaml]\n") }, ExitUsage, "note: kustomization prod" + still + "only kustomization cluster uses it" + failed, "kustomization cluster: not compared: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			deployed(t)
			if test.before != nil {
				test.before()
				commit(t)
			}
			test.change()
			for _, path := range []string{"", "prod", "plain"} {
				args := strings.Fields("diff --base-ref HEAD " + path)
				got := run(t, "", args...)
				if strings.Contains(got.stdout, " (new ") || strings.Contains(got.stdout, "no longer") || strings.Contains(got.stdout, "was removed") || strings.Contains(got.stdout, "new findings") {
					t.Errorf("%q: what is there is new, or gone: %+v", args, got)
				}
				if path == "" && (got.code != test.code || !strings.Contains(got.stdout, "no change in what was compared; ") || !strings.Contains(got.stdout, test.want) || !strings.Contains(got.stderr, test.errs)) {
					t.Errorf("%+v", got)
				}
			}
			if got := run(t, "", "check", "--complete"); strings.Contains(got.stdout, "Service shop/web does not exist") {
				t.Errorf("check: %+v", got)
			}
		})
	}
	// Of two overlays, one can be read: what the other one has is not known.
	deployed(t)
	put(t, "eu/kustomization.yaml", "namespace: eu\nresources: [../prod]\n")
	put(t, "us/kustomization.yaml", "namespace: us\nresources: [../prod, none.yaml]\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); !strings.Contains(got.stdout, "note: kustomization prod"+still+"kustomization us uses it"+failed) ||
		!strings.Contains(got.stdout, "(new HTTPRoute eu/cart)") || strings.Contains(got.stdout, "no longer") {
		t.Errorf("two overlays: %+v", got)
	}
}
