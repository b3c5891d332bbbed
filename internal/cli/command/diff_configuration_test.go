package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffOfConfigurations: each version is judged by the configuration of its own .gammaguard.yaml, and both by that which a flag names.
func TestDiffOfConfigurations(t *testing.T) {
	const (
		project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nconfiguration: guard.yaml\n"
		guard   = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"
		both    = "note: both versions are judged by guard.yaml, which --config names; HEAD:guard.yaml differs\n"
		grant   = "grants: {default: producer}\n"
		route   = "web:80 100 % (the rule has no backendRefs)  →  500 (the rule has no backendRefs)\n"
		denied  = "grant-missing"
	)
	for _, test := range []struct {
		name, rule, before, after, want string
		code                            int
	}{
		{"mesh", "{}", grant + "mesh: linkerd\n", grant + "mesh: istio\n", route, ExitFindings},
		{"rules", "{matches: [{path: {value: /a}}], backendRefs: [{name: web, port: 80}]}", grant + "rules: {no-catch-all: warn}\n", grant + "rules: {no-catch-all: deny}\n", "deny     HTTPRoute shop/web", ExitClean},
		{"grants", "{backendRefs: [{name: web, port: 80}]}", grant, "grants: {default: none}\n", denied, ExitClean},
		{"grants, rules", "{backendRefs: [{name: web, port: 80}]}", grant, "grants: {default: all}\nrules: {no-catch-all: off}\n", "no change", ExitClean},
	} {
		deployed(t)
		for _, name := range []string{"base", "prod", "test", "chart"} {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		put(t, "plain/ns.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
		web, err := os.ReadFile("plain/web.yaml")
		if err != nil {
			t.Fatal(err)
		}
		put(t, "plain/web.yaml", strings.Replace(string(web), "{backendRefs: [{name: web-v1, port: 80}]}", test.rule, 1))
		put(t, ".gammaguard.yaml", project)
		put(t, "guard.yaml", guard+test.before)
		commit(t)
		before := t.TempDir()
		if err := os.CopyFS(before, os.DirFS(".")); err != nil {
			t.Fatal(err)
		}
		put(t, "guard.yaml", guard+test.after)
		for _, args := range []string{"--base-ref HEAD", "--base-ref HEAD -f plain", "--base " + before, "--base " + before + "/plain -f plain"} {
			diff := func(more string) result { return run(t, "", strings.Fields("diff "+args+more)...) }
			differs := "note: the configuration differs from that of the base (" + test.name
			if got := diff(""); got.code != test.code || !strings.Contains(got.stdout, test.want) || !strings.Contains(got.stdout, differs) || got.stderr != "" || strings.Contains(got.stdout, "--config") {
				t.Errorf("%s: %s: %+v", test.name, args, got)
			}
			got := diff(" --config guard.yaml")
			if got.code != ExitClean || strings.Contains(got.stdout, "judged by its own") || strings.Contains(got.stdout, both) != strings.Contains(args, "-ref") || got.stderr != "" {
				t.Errorf("%s: %s, --config: %+v", test.name, args, got)
			}
		}
	}
	put(t, "guard.yaml", guard+"mesh: none\n")
	commit(t)
	put(t, "guard.yaml", guard)
	for _, input := range []string{"", " -f ."} { // who repairs it is not to blame
		got := run(t, "", strings.Fields("diff --base-ref HEAD"+input)...)
		if got.code != ExitClean || !strings.HasPrefix(got.stdout, "note: the input is not compared: the base cannot be read: configuration HEAD:guard.yaml: mesh: ") || !strings.HasSuffix(got.stdout, "; 1 set not compared\n") {
			t.Errorf("%s: %+v", input, got)
		}
	}
}
