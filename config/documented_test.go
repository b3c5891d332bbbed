package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// TestDocumentedFields: the table of docs/configuration.md has a row for each field, and the
// mutations, the meshes, and the actions that there are.
func TestDocumentedFields(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(field string) string {
		_, rest, found := strings.Cut(string(page), "\n| `"+field+"` | ")
		if !found {
			t.Errorf("no row of %s", field)
		}
		text, _, _ := strings.Cut(rest, " |\n")
		return text
	}
	for _, m := range mutate.Catalog() {
		if !strings.Contains(row("mutations"), "`"+m.ID+"`") {
			t.Errorf("the row of mutations lacks %s", m.ID)
		}
	}
	for _, p := range mesh.Profiles() {
		if !strings.Contains(row("mesh"), "`"+string(p.Name)+"`") {
			t.Errorf("the row of mesh lacks %s", p.Name)
		}
	}
	for _, action := range validate.Actions() {
		if !strings.Contains(row("rules"), "`"+string(action)+"`") {
			t.Errorf("the row of rules lacks %s", action)
		}
	}
	for i := range reflect.TypeFor[GuardConfiguration]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[GuardConfiguration]().Field(i).Tag.Get("json"), ",")
		if name != "" && name != "kind" && name != "apiVersion" && !strings.Contains(string(page), "\n| `"+name) {
			t.Errorf("no row of %s", name)
		}
	}
}

// blocks returns the YAML below a heading of a page of docs/.
func blocks(t *testing.T, page, heading string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range strings.Split(section, "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		all = append(all, block)
	}
	if len(all) == 0 {
		t.Fatalf("docs/%s has no YAML below %q", page, heading)
	}
	return all
}

// kustomization makes a folder with the lines as its
// kustomization.yaml and a file guard.yaml.
func kustomization(t *testing.T, lines string) (folder string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(folder, here)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"kustomization.yaml": strings.ReplaceAll(lines, "../config/", filepath.ToSlash(base)+"/"),
		"guard.yaml":         header + "mode: warn\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestKustomizations builds the examples of docs/install.md and docs/components.md.
func TestKustomizations(t *testing.T) {
	image := strings.ReplaceAll(blocks(t, "install.md", "## The image")[0], "github.com/your/fork/config/", "../config/")
	pod := only[*appsv1.Deployment](t, render(t, kustomization(t, image)), "gammaguard-webhook").Spec.Template.Spec
	if got := pod.Containers[0].Image; got != "registry.example.com/gammaguard-webhook:v1.2.3" {
		t.Errorf("the image is %s", got)
	}
	more := blocks(t, "components.md", "## Components")
	if len(more) != 2 {
		t.Fatalf("there are %d examples", len(more))
	}
	text, err := build(t, kustomization(t, more[0])).AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nkind: ServiceMonitor\n", "\n  - Egress\n", "\n    - port: 443\n      protocol: TCP\n    - port: 6443\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the components do not add %q", want)
		}
	}
	// "By other means" names them in a sentence.
	own := kustomization(t, "resources: [../config/base]\ncomponents: [../config/components/high-availability]\n")
	pod = only[*appsv1.Deployment](t, render(t, own), "gammaguard-webhook").Spec.Template.Spec
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "gammaguard-webhook-cert" }) {
		t.Errorf("the Pods do not mount the Secret: %+v", pod.Volumes)
	}
	objects := render(t, kustomization(t, "resources: [../config/default]\n"+more[1]))
	if got := only[*corev1.ConfigMap](t, objects, "").Data["guard.yaml"]; got != header+"mode: warn\n" {
		t.Errorf("the configuration is %s", got)
	}
}

// TestDocumentedRoles: the table of docs/permissions.md has each right that a role gives, but
// those of gammaguard-viewer, which internal/cli/cluster plays.
func TestDocumentedRoles(t *testing.T) {
	page, err := os.ReadFile("../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Roles\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rights, role := map[string][]string{}, ""
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		if name := strings.TrimSpace(cells[1]); name != "" {
			role = name
		}
		rights[role] = append(rights[role], strings.Split(strings.ToLower(cells[3]), ";")...)
	}
	objects := slices.Concat(render(t, "default"), render(t, "overlays/self-managed"),
		[]client.Object{manifest[rbacv1.ClusterRole](t, "components/openreports/rbac.yaml", 0)})
	for _, object := range objects {
		kind, rules := "", []rbacv1.PolicyRule(nil)
		switch object := object.(type) {
		case *rbacv1.ClusterRole:
			kind, rules = "ClusterRole", object.Rules
		case *rbacv1.Role:
			kind, rules = "Role", object.Rules
		}
		if object.GetName() == "gammaguard-viewer" {
			continue
		}
		var said []string
		for name, texts := range rights {
			if strings.HasPrefix(name, kind+" `"+object.GetName()+"`") {
				said = append(said, texts...)
			}
		}
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				if verbs, noun := strings.Join(rule.Verbs, ", "), nounOf(resource); !slices.ContainsFunc(said, func(text string) bool {
					return strings.Contains(text, verbs) && strings.Contains(text, noun)
				}) {
					t.Errorf("the table lacks that %s %s may %s %s", kind, object.GetName(), verbs, noun)
				}
			}
		}
	}
}

// nounOf returns what the page calls a resource, in lower case.
func nounOf(resource string) string {
	switch {
	case strings.HasSuffix(resource, "/status"):
		return "status of routes"
	case strings.HasSuffix(resource, "routes"):
		return "routes"
	case strings.HasSuffix(resource, "webhookconfigurations"):
		return "webhook configurations"
	}
	return strings.TrimSuffix(strings.TrimSuffix(resource, "s"), "ie")
}
