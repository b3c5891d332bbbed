package install

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/bed"
)

// TestHelm installs the chart, upgrades it to other values, rolls it back and uninstalls
// it, as Helm does.
func TestHelm(t *testing.T) {
	c, helm, release := admin(t), helmConfiguration(t), loadChart(t)
	wantHelmCommands(t)
	kubectl(t, "create", "namespace", system)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, stderr, err := plane.Kubectl(ctx, "", "delete", "namespace", system, "--wait=false"); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
		endNamespace(ctx, t)
	})
	kubectl(t, "label", "namespace", system, "pod-security.kubernetes.io/enforce=restricted")

	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "gammaguard", system, kube.HookOnlyStrategy
	image := map[string]any{"repository": "registry.example.com/gammaguard-webhook", "tag": "v1.2.3"}
	if _, err := install.RunWithContext(t.Context(), release, map[string]any{"image": image}); err != nil {
		t.Fatal(err)
	}
	wantSource(t, "issuer/gammaguard-ca")
	wantRestricted(t, c, "registry.example.com/gammaguard-webhook:v1.2.3")
	wantRoutes(t, false)
	haveServed(t)
	wantRoutes(t, true)
	trustBundle(t, c)
	bundle := fillSecret(t)
	takeBack(t, helm, release, map[string]any{"image": image})

	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.TakeOwnership = system, kube.HookOnlyStrategy, true
	values := map[string]any{
		"replicas": 3, "failurePolicy": "Ignore", "certificates": map[string]any{"source": "self-managed"},
		"configuration": map[string]any{"mode": "audit"},
	}
	if _, err := upgrade.RunWithContext(t.Context(), "gammaguard", release, values); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, false)
	wantDeployment(t, c, 3, "mode: audit\n")
	wantBundle(t, c)
	wantSource(t, "secret/gammaguard-webhook-cert")
	wantSecret(t, c, bundle)

	rollback := action.NewRollback(helm)
	rollback.WaitStrategy = kube.HookOnlyStrategy
	if err := rollback.Run("gammaguard"); err != nil {
		t.Fatal(err)
	}
	wantRoutes(t, true)
	wantDeployment(t, c, 2, "mode: enforce\n")
	wantBundle(t, c)
	wantSource(t, "issuer/gammaguard-ca")

	// What gammaguard and cert-manager make is no part of the release.
	kubectl(t, "create", "secret", "generic", "-n", system, "gammaguard-ca")
	kubectl(t, "create", "secret", "generic", "-n", system, "gammaguard-webhook-cert")
	newOperator(t).apply(t, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: gammaguard-webhook, namespace: "+system+"}}")
	uninstall := action.NewUninstall(helm)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run("gammaguard"); err != nil {
		t.Fatal(err)
	}
	if left := versions(t); len(left) > 0 {
		t.Errorf("helm uninstall leaves %v", left)
	}
	wantRoutes(t, false)
	leftovers(t)
}

// takeBack: an upgrade takes back what the page on emergencies patches only if it forces conflicts.
func takeBack(t *testing.T, helm *action.Configuration, release *chartv2.Chart, values map[string]any) {
	t.Helper()
	policy := func() string {
		return kubectl(t, "get", "validatingwebhookconfiguration", "gammaguard", "-o", "jsonpath={.webhooks[0].failurePolicy}")
	}
	o := newOperator(t)
	commands := commandsOf(t, o.root, "emergency.md", "## Emergency")
	at := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, "kubectl patch ") })
	o.must(t, commands[at])
	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.ServerSideApply = system, kube.HookOnlyStrategy, "true"
	if _, err := upgrade.RunWithContext(t.Context(), "gammaguard", release, values); err == nil || !strings.Contains(err.Error(), "conflict with \"kubectl-patch\"") || policy() != "Ignore" {
		t.Fatalf("an upgrade that forces no conflict: %v, failurePolicy %s", err, policy())
	}
	upgrade.ForceConflicts = true
	if _, err := upgrade.RunWithContext(t.Context(), "gammaguard", release, values); err != nil || policy() != "Fail" {
		t.Fatalf("an upgrade that forces conflicts: %v, failurePolicy %s", err, policy())
	}
}

// leftovers: the page has one command more after helm uninstall, which deletes all that is left in the namespace.
func leftovers(t *testing.T) {
	t.Helper()
	o := newOperator(t)
	commands := commandsOf(t, o.root, "helm.md", "## Upgrade, rollback, uninstall")
	left := func() string { return kubectl(t, "get", "leases,secrets", "-n", system, "-o", "name") }
	if got := len(strings.Fields(left())); got != 3 {
		t.Errorf("helm uninstall leaves %d objects, want 3:\n%s", got, left())
	}
	o.must(t, commands[len(commands)-1])
	if got := left(); got != "" {
		t.Errorf("the command leaves\n%s", got)
	}
}

// wantHelmCommands: the pages show what the test does, and no other command of Helm.
func wantHelmCommands(t *testing.T) {
	t.Helper()
	want := []string{
		"helm upgrade gammaguard ./charts/gammaguard --namespace gammaguard-system --values values.yaml --wait --take-ownership",
		"helm install gammaguard ./charts/gammaguard --namespace gammaguard-system --create-namespace --wait --set image.repository=registry.example.com/gammaguard-webhook,image.tag=v1.2.3",
		"helm upgrade gammaguard ./charts/gammaguard --namespace gammaguard-system --values values.yaml --wait",
		"helm rollback gammaguard --namespace gammaguard-system --wait",
		"helm uninstall gammaguard --namespace gammaguard-system --wait",
	}
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, c := range documented(t, root) {
		if strings.HasPrefix(c.text, "helm ") {
			shown = append(shown, c.text)
		}
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("commands of Helm (-tested +shown)\n%s", diff)
	}
}

// helmConfiguration returns how Helm reaches the API server.
func helmConfiguration(t *testing.T) *action.Configuration {
	t.Helper()
	kube.ManagedFieldsManager = "helm" // the program's name, as Helm has it
	flags := genericclioptions.NewConfigFlags(true)
	cache, namespace := filepath.Join(t.TempDir(), "cache"), system
	flags.KubeConfig, flags.CacheDir, flags.Namespace = &plane.Kubeconfig, &cache, &namespace
	helm := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := helm.Init(flags, system, "secret"); err != nil {
		t.Fatal(err)
	}
	return helm
}

// loadChart loads the chart.
func loadChart(t *testing.T) *chartv2.Chart {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.LoadDir(filepath.Join(root, "charts", "gammaguard"))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// wantSource wants the source of certificates that has the object, and no other.
func wantSource(t *testing.T, object string) {
	t.Helper()
	got := kubectl(t, "get", "issuer/gammaguard-ca", "secret/gammaguard-webhook-cert", "-n", system, "-o", "name", "--ignore-not-found")
	if kind, name, _ := strings.Cut(object, "/"); !strings.HasPrefix(got, kind) || !strings.HasSuffix(got, "/"+name+"\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want %s", got, object)
	}
}

// trustBundle sets the CA of the webhooks, as cert-manager and gammaguard do.
func trustBundle(t *testing.T, c client.Client) {
	t.Helper()
	registration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "gammaguard"}, registration); err != nil {
		t.Fatal(err)
	}
	for i := range registration.Webhooks {
		registration.Webhooks[i].ClientConfig.CABundle = plane.Config.CAData
	}
	if err := c.Update(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
}

// wantBundle wants the CA to be still there.
func wantBundle(t *testing.T, c client.Client) {
	t.Helper()
	registration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "gammaguard"}, registration); err != nil {
		t.Fatal(err)
	}
	for _, webhook := range registration.Webhooks {
		if len(webhook.ClientConfig.CABundle) == 0 {
			t.Errorf("%s has lost its CA", webhook.Name)
		}
	}
}

// wantDeployment wants that many replicas, which mount the one ConfigMap that there is.
func wantDeployment(t *testing.T, c client.Client, replicas int32, content string) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "gammaguard-webhook"}, deployment); err != nil {
		t.Fatal(err)
	}
	if *deployment.Spec.Replicas != replicas {
		t.Errorf("%d replicas, want %d", *deployment.Spec.Replicas, replicas)
	}
	var configMaps corev1.ConfigMapList
	if err := c.List(t.Context(), &configMaps, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "gammaguard"}); err != nil {
		t.Fatal(err)
	}
	if len(configMaps.Items) != 1 {
		t.Fatalf("%d ConfigMaps", len(configMaps.Items))
	}
	mounted := slices.ContainsFunc(deployment.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap != nil && v.ConfigMap.Name == configMaps.Items[0].Name
	})
	if file := configMaps.Items[0].Data["guard.yaml"]; !mounted || !strings.HasSuffix(file, content) {
		t.Errorf("mounted: %t, the configuration:\n%s", mounted, file)
	}
}
