package command

import (
	"strings"
	"testing"
)

// TestTestOfProject: where flags name the input, the project of that counts, as for trace; else that of the file of tests.
func TestTestOfProject(t *testing.T) {
	const project = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nconfiguration: guard.yaml\ncontext: [namespaces.yaml]\n"
	const tests = "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ntests: [{name: a, request: {service: default/cart, port: 80}, expect: {backend: 'cart:80'}}]\n"
	const guard = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmesh: kuma\n"
	t.Chdir(written(t, map[string]string{
		"repository/.gammaguard.yaml": project, "repository/guard.yaml": guard,
		"repository/namespaces.yaml":         "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: none}}}\n",
		"repository/prod/cart.yaml":          strings.ReplaceAll(orphan, "cart}", "cart, port: 80}"),
		"repository/prod/services.yaml":      "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: default}, spec: {ports: [{port: 80}]}}\n",
		"repository/prod/kustomization.yaml": "resources: [cart.yaml, services.yaml]\n",
		"repository/own.yaml":                tests + "input: {kustomization: prod}\n", "safety.yaml": tests,
		"prod/cart.yaml":     strings.ReplaceAll(orphan, "cart}", "cart, port: 80}"),
		"prod/services.yaml": "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: default}, spec: {ports: [{port: 80}]}}\n",
	}))
	for args, want := range map[string]int{"safety.yaml -f repository/prod": ExitClean, "safety.yaml -k repository/prod": ExitClean, "repository/own.yaml": ExitClean, "repository/own.yaml -f prod": ExitFindings} {
		if got := run(t, "", append([]string{"test"}, strings.Fields(args)...)...); got.code != want {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := runIn(t, "repository", "test", "../safety.yaml", "-f", "prod"); got.code != ExitClean {
		t.Errorf("from the repository: %+v", got)
	}
	if got := run(t, "", "test", "--init", "new.yaml", "-f", "repository/prod"); got.code != ExitClean || !strings.HasSuffix(got.stdout, "To run: gammaguard test new.yaml\n") {
		t.Errorf("--init: %+v", got)
	}
	if got := run(t, "", "test", "new.yaml"); got.code != ExitClean {
		t.Errorf("as --init says: %+v", got)
	}
}
