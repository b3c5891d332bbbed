package command

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// each calls do for each command that does something, with its name: "grants list".
func each(t *testing.T, do func(name string, cmd *cobra.Command)) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "gammaguard ")
		if cmd.HasParent() && cmd.Runnable() && name != "help" && !strings.HasPrefix(name, "completion") && name != "status" {
			do(name, cmd)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(New("gammaguard", streamsOf(t)))
}

// meaning is what a flag's help says before what may differ by command.
func meaning(usage string) string {
	if end := strings.IndexAny(usage, ";:"); end >= 0 {
		return usage[:end]
	}
	return usage
}

// TestFamily: a flag of one name has one shorthand, one type, and one meaning in all commands, and a
// shorthand stands for one name.
func TestFamily(t *testing.T) {
	type seen struct {
		by   string
		flag *pflag.Flag
	}
	names, shorthands, flags := map[string]seen{}, map[string]seen{}, 0
	each(t, func(name string, cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" {
				return
			}
			flags++
			first, again := names[flag.Name]
			if !again {
				names[flag.Name] = seen{name, flag}
			} else if first.flag.Shorthand != flag.Shorthand || first.flag.Value.Type() != flag.Value.Type() {
				t.Errorf("--%s: -%s %s for %s, -%s %s for %s", flag.Name, first.flag.Shorthand, first.flag.Value.Type(), first.by, flag.Shorthand, flag.Value.Type(), name)
			} else if a, b := meaning(first.flag.Usage), meaning(flag.Usage); !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a) {
				t.Errorf("--%s has two meanings:\n%s: %s\n%s: %s", flag.Name, first.by, a, name, b)
			}
			if flag.Shorthand == "" {
				return
			}
			if first, again := shorthands[flag.Shorthand]; again && first.flag.Name != flag.Name {
				t.Errorf("-%s is --%s for %s and --%s for %s", flag.Shorthand, first.flag.Name, first.by, flag.Name, name)
			}
			shorthands[flag.Shorthand] = seen{name, flag}
		})
	})
	if flags < 200 {
		t.Errorf("found %d flags, which are too few to be all", flags)
	}
}

// TestFamilyIsComplete: each command has the flags that make sense for what it does.
func TestFamilyIsComplete(t *testing.T) {
	var (
		files   = []string{"check", "conflicts", "diff", "graph", "test", "trace", "verify"}
		cluster = []string{"audit", "check", "conflicts", "describe", "detect-mesh", "diff", "graph", "grants", "grants list", "grants request", "preflight", "status clear", "trace", "verify"}
		without = []string{"explain", "lsp", "policy", "version"}
		of      = map[string][]string{
			"filename": files, "kustomize": files, "helm": files, "values": files, "channel": append(files, "lsp"), "complete": append(files, "lsp"),
			"context": cluster, "kubeconfig": cluster, "as": cluster, "namespace": append(cluster, "test"),
			// Of those that read routes.
			"config":         {"audit", "check", "conflicts", "describe", "diff", "graph", "grants", "grants list", "lsp", "policy", "status clear", "test", "trace", "verify"},
			"mesh":           {"audit", "check", "conflicts", "describe", "diff", "graph", "grants", "grants list", "lsp", "policy", "status clear", "test", "trace", "verify"},
			"all-namespaces": {"audit", "conflicts", "graph", "grants", "grants list", "status clear"},
			// What reads files and a cluster; the others read a cluster, or files, always.
			"cluster": {"check", "conflicts", "diff", "graph", "trace", "verify"},
			"output":  {"audit", "check", "conflicts", "describe", "detect-mesh", "diff", "explain", "graph", "grants", "grants list", "policy", "preflight", "status clear", "test", "trace", "verify", "version"},
		}
	)
	each(t, func(name string, cmd *cobra.Command) {
		if !slices.Contains(slices.Concat(files, cluster, without), name) {
			t.Errorf("%s: say here what it reads", name)
		}
		for flag, commands := range of {
			if has := cmd.Flags().Lookup(flag) != nil; has != slices.Contains(commands, name) {
				t.Errorf("%s --%s: %v", name, flag, has)
			}
		}
	})
}

// TestOutputFamily: whatever writes JSON writes YAML, and what writes text without the flag takes that word.
func TestOutputFamily(t *testing.T) {
	found := 0
	each(t, func(name string, cmd *cobra.Command) {
		flag := cmd.Flags().Lookup("output")
		if flag == nil {
			return
		}
		takes := func(format string) bool { return flag.Value.Set(format) == nil }
		if o, several := flag.Value.(*outputs); several {
			takes = func(format string) bool { return slices.Contains(o.formats, format) }
		}
		if takes("json") != takes("yaml") && name != "policy" || strings.HasSuffix(flag.Usage, "if empty, text") && !takes("text") {
			t.Errorf("%s: %s", name, flag.Usage)
		}
		found++
	})
	if found < 15 {
		t.Errorf("found %d commands with -o, which are too few to be all", found)
	}
	const rule = "parent-headless"
	inJSON, inYAML := run(t, "", "explain", rule, "-o", "json"), run(t, "", "explain", rule, "-o", "yaml")
	back, err := yaml.YAMLToJSON([]byte(inYAML.stdout))
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(inJSON.stdout), &a), json.Unmarshal(back, &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" || a == nil {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

// TestVersionFlag: --version is version.
func TestVersionFlag(t *testing.T) {
	if flag, command := run(t, "", "--version"), run(t, "", "version"); flag != command || flag.code != ExitClean || !strings.HasPrefix(flag.stdout, "gammaguard ") {
		t.Errorf("%+v, %+v", flag, command)
	}
}

// TestWithoutCluster: a command that cannot reach a cluster says what else to do.
func TestWithoutCluster(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	put(t, kubeconfig, `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]}`)
	t.Setenv("KUBECONFIG", kubeconfig)
	const files = ", or use -f, -k, or --helm to read files\n"
	for args, want := range map[string]string{
		"graph": files, "conflicts": files, "trace cart:80": files, "describe service/cart": "--context\n", "grants": "--context\n",
		"audit": "; to check files, use gammaguard check\n", "check --cluster -f " + shop: ", or leave out --cluster\n",
	} {
		got := run(t, "", strings.Fields(args)...)
		if got.code != ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "error: cannot reach the cluster at http://127.0.0.1:1: ") || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for args, want := range map[string]string{
		"audit --kubeconfig testdata/none": "error: kubeconfig: testdata/none: no such file or directory\n",
		"audit --context b":                "error: kubeconfig: context \"b\" does not exist\n",
	} {
		if got := run(t, "", strings.Fields(args)...); got.code != ExitUsage || got.stderr != want {
			t.Errorf("%s: %+v", args, got)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	const none = "error: no kubeconfig names a cluster, and there is none at http://localhost:8080; specify one with KUBECONFIG, --kubeconfig, or --context\n"
	if got := run(t, "", "describe", "service/cart"); got.code != ExitUsage || got.stderr != none {
		t.Errorf("%+v", got)
	}
}
