package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffDroppedContext: what is no longer context, and is still there, is not gone; what is removed, too, is.
func TestDiffDroppedContext(t *testing.T) {
	t.Chdir(t.TempDir())
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {parentRefs: [{group: \"\", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: web-v2, port: 80}]}]}\n"
	put(t, "shop/web.yaml", route)
	put(t, "shared/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: producer}}\n")
	put(t, "shared/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n---\n"+
		"apiVersion: v1\nkind: Service\nmetadata: {name: web-v2, namespace: shop}\nspec: {ports: [{port: 80}]}\n")
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [shop]}]\ncontext: [shared]\n")
	commit(t)
	commands := []string{"diff --base-ref HEAD", "diff --base-ref HEAD -f shop"}
	const note = "note: shared is no longer context in .gammaguard.yaml: what is still there is compared as it is, and is unknown to check\n"
	for _, project := range []string{"context: [shared/shop.yaml]\n", ""} {
		put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [shop]}]\n"+project)
		for _, command := range commands {
			if got := run(t, "", strings.Fields(command)...); got.code != ExitClean || !strings.HasPrefix(got.stdout, note+"no change; ") {
				t.Errorf("%q: %s: %+v", project, command, got)
			}
		}
	}
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [shop]}]\ncontext: [shared/web.yaml]\n")
	if err := os.Remove("shared/shop.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		got := run(t, "", strings.Fields(command)...)
		if got.code != ExitFindings || strings.Contains(got.stdout, "no longer context") || !strings.Contains(got.stdout, "namespace shop lacks the producer grant for HTTPRoute") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// TestDiffContextNotes: a repository without sets finds what is no longer context as a set, which check takes alone; and a slip in context is
// noted as check does.
func TestDiffContextNotes(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "shop/kustomization.yaml", "resources: [web.yaml]\n")
	put(t, "shop/web.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\n"+
		"spec: {parentRefs: [{group: \"\", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}\n")
	const shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: producer}}\n"
	put(t, "shared/shop.yaml", shop)
	put(t, "shared/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n")
	put(t, ".gammaguard.yaml", projectHeader+"context: [shared]\n")
	commit(t)
	put(t, "shared/shop.yaml", strings.Replace(shop, "dev/grant", "dev/grnat", 1))
	const slip = "note: shared/shop.yaml:3: Namespace shop: the label gammaguard.dev/grnat has no effect here; did you mean the label gammaguard.dev/grant?\n"
	if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Count(got.stdout, slip) != 1 {
		t.Errorf("a slip in context: %+v", got)
	}
	put(t, "shared/shop.yaml", shop)
	put(t, ".gammaguard.yaml", projectHeader+"failOn: warn\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "note: shared is no longer context in .gammaguard.yaml: ") {
		t.Errorf("no longer context: %+v", got)
	}
}

// TestDiffOfNamespacesElsewhere: a change of a Namespace in one set is noted where routes of another set are in it.
func TestDiffOfNamespacesElsewhere(t *testing.T) {
	deployed(t)
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: GRANT}}}\n"
	put(t, "names/shop.yaml", strings.Replace(namespace, "GRANT", "producer", 1))
	commit(t)
	if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Contains(got.stdout, "has routes in") {
		t.Errorf("no change: %+v", got)
	}
	put(t, "names/shop.yaml", strings.Replace(namespace, "GRANT", "none", 1))
	got := run(t, "", "diff", "--base-ref", "HEAD")
	if !strings.Contains(got.stdout, "note: Namespace shop has routes in ") || !strings.Contains(got.stdout, ", or name its file as context in .gammaguard.yaml\n") {
		t.Errorf("%+v", got)
	}
	put(t, ".gammaguard.yaml", projectHeader+"context: [names]\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); strings.Contains(got.stdout, "has routes in") || !strings.Contains(got.stdout, "(grant-missing)") {
		t.Errorf("as context: %+v", got)
	}
}
