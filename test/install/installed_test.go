package install

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
)

// TestInstalled: 'gammaguard preflight --installed' tells apart what may be wrong with an
// installation, by the exit codes of docs/install.md.
func TestInstalled(t *testing.T) {
	o := newOperator(t)
	t.Cleanup(func() { o.stop(t) })
	const check = "gammaguard preflight --installed"
	documentedCheck := commandsOf(t, o.root, "install.md", "## Check that it works")
	if !slices.Equal(documentedCheck, []string{check + " --wait 1m"}) {
		t.Fatalf("the page has the commands %q", documentedCheck)
	}
	o.apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: trial}}`)
	kubectl(t, "label", "namespace", "trial", "gammaguard.dev/grant=all", "--overwrite")
	o.wants(t, check, 5, `(?m)^webhook configurations +fail +there is no validatingwebhookconfiguration gammaguard$`)
	o.leftPolicies(t, check+" -n shut")

	install(t, folder(t, "default"))
	awaitRegistrations(t, admin(t))
	o.wants(t, check, 4, `(?m)^has served +fail +not yet, `)
	const reaches = `(?m)^API server reaches gammaguard +fail +.*`
	o.wants(t, check, 4, reaches+`; Service gammaguard-system/gammaguard-webhook has no endpoint: either no Pod is ready, or its selector matches none: if Pods are ready, delete the Service, and apply the overlay again$`)
	kubectl(t, "delete", "service", "-n", "gammaguard-system", "gammaguard-webhook")
	o.wants(t, check, 4, reaches+`; there is no Service gammaguard-system/gammaguard-webhook: apply the overlay again$`)
	o.serve(t, "config/base/guard.yaml")
	replicas := regexp.MustCompile(`(?m)^installation +fail +0 of 2 replicas are ready; image gammaguard-webhook:dev; certificates from cert-manager; mode enforce$`)
	background.Eventually(t, func() string { // it starts, and there are no Pods
		if code, stdout, _ := o.sh(t, check); code != 1 || !replicas.MatchString(stdout) {
			return stdout
		}
		return ""
	})
	haveReplicas(t)
	o.wants(t, documentedCheck[0], 0, `(?m)^a bad route in namespace gammaguard-system +ok +is refused by gammaguard$`)
	o.wants(t, check, 0, `(?m)^leader election +ok +its Role and RoleBinding are there$`)
	o.wants(t, check, 0, `(?m)^policies on routes without a grant +ok +none are installed: only the webhook can refuse these routes$`)
	const served, failurePolicy = `(?m)^has served +ok +while no replica answers, `, `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": %q}]`
	o.wants(t, check, 0, served+`mesh routes are refused$`)
	kubectl(t, "patch", "validatingwebhookconfiguration", "gammaguard", "--type=json", "-p", fmt.Sprintf(failurePolicy, "Ignore"))
	o.wants(t, check, 0, served+`gammaguard checks no mesh route: the failurePolicy is Ignore$(?s:.*)^policies on routes without a grant +warn +none are installed, and the failurePolicy is Ignore: `)
	kubectl(t, "patch", "validatingwebhookconfiguration", "gammaguard", "--type=json", "-p", fmt.Sprintf(failurePolicy, "Fail"))
	kubectl(t, "apply", "-k", folder(t, "policy"))
	o.wants(t, check, 0, `(?m)^policies on routes without a grant +ok +the API server enforces those of the configuration$`)
	background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
		if code, stdout, _ := o.sh(t, check); code != 0 || !strings.Contains(stdout, "is refused by the API server itself, for its grant; gammaguard answers") {
			return stdout
		}
		return ""
	})
	kubectl(t, "patch", "validatingadmissionpolicybinding", "gammaguard-route-grants-unlabeled", "--type=merge", "-p", `{"spec": {"validationActions": ["Audit"]}}`)
	o.wants(t, check, 1, `(?m)^policies on routes without a grant +fail +ValidatingAdmissionPolicyBinding gammaguard-route-grants-unlabeled was edited; apply what 'gammaguard policy' writes for the configuration, in the place of the component policies$`)
	kubectl(t, "delete", "-k", folder(t, "policy"))
	background.Eventually(t, func() string { // and forgotten a moment after it is gone
		if code, stdout, _ := o.sh(t, check); code != 0 || !strings.Contains(stdout, "is refused by gammaguard\n") {
			return stdout
		}
		return ""
	})
	o.wants(t, check+" -n trial -o json", 0, `"name": "API server reaches gammaguard",\n +"result": "ok"`)
	kubectl(t, "delete", "mutatingwebhookconfiguration", "gammaguard")
	o.wants(t, check, 0, `(?m)^webhook configurations +warn +there is no mutatingwebhookconfiguration gammaguard: routes are checked and not completed$`)
	kubectl(t, "label", "namespace", "trial", "gammaguard.dev/mode=warn")
	background.Eventually(t, func() string { // the replica sees the label
		if code, stdout, _ := o.sh(t, check+" -n trial"); code != 3 || !strings.Contains(stdout, "is admitted, although gammaguard answers: the mode is warn") {
			return stdout
		}
		return ""
	})
	o.wants(t, check+" --as nobody", 1, `(?m)^a bad route in namespace gammaguard-system +unknown +gammaguard is not asked: .*forbidden`)
	if code, _, stderr := o.sh(t, check+" --overlay default"); code != 2 || !strings.Contains(stderr, "--overlay has no effect with --installed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	unbound.from = time.Now()
	kubectl(t, "delete", "clusterrolebinding", "gammaguard-webhook")
	background.Eventually(t, func() string { // the API server's authorizer forgets it a moment later
		if code, stdout, _ := o.sh(t, check); code != 1 || !regexp.MustCompile(`(?m)^a bad route in namespace gammaguard-system +fail +gammaguard answers, but cannot verify routes: gammaguard could not verify the route, because it lacks a permission; .* is forbidden: User "`).MatchString(stdout) {
			return stdout
		}
		return ""
	})
	if err := o.guard.Kill(); err != nil {
		t.Fatal(err)
	}
	unbound.until = time.Now()
	o.wants(t, check, 4, `(?m)^a bad route in namespace gammaguard-system +fail +is refused because gammaguard does not answer: .*validate.gammaguard.dev`)
	kubectl(t, "delete", "validatingwebhookconfiguration", "gammaguard")
	background.Eventually(t, func() string { // the API server forgets it a moment later
		if code, stdout, _ := o.sh(t, check); code != 5 || !strings.Contains(stdout, "it has, and checks no mesh route all the same: the validating webhook is not registered") {
			return stdout
		}
		return ""
	})
	uninstall(t, folder(t, "default"))

	t.Run("audit-only", func(t *testing.T) {
		install(t, folder(t, "overlays/audit-only"))
		t.Cleanup(func() { o.stop(t) }) // before its rights go
		o.serve(t, "config/components/audit-only/guard.yaml")
		background.Eventually(t, func() string {
			if code, stdout, _ := o.sh(t, check); code != 1 || !strings.Contains(stdout, "although gammaguard answers: the mode is audit") {
				return stdout
			}
			return ""
		})
		definition := filepath.Join(t.TempDir(), "httproutes.json")
		o.must(t, "kubectl get customresourcedefinition httproutes.gateway.networking.k8s.io -o json > "+definition+" && kubectl delete -f "+definition)
		background.Eventually(t, func() string { // the API server forgets it a moment later
			if code, stdout, _ := o.sh(t, check); code != 1 || !strings.Contains(stdout, "cannot be tried, since no HTTPRoute is served: install the CustomResourceDefinitions of the Gateway API\n") {
				return stdout
			}
			return ""
		})
		o.must(t, "kubectl create -f "+definition+" && kubectl wait --for=condition=Established --timeout=2m -f "+definition)
	})
	t.Run("refused from the start", func(t *testing.T) {
		commands := commandsOf(t, o.root, "availability.md", "## Until gammaguard has served")
		if len(commands) != 1 {
			t.Fatalf("the page has the commands %q", commands)
		}
		o.must(t, commands[0])
		install(t, folder(t, "overlays/self-managed"))
		wantRoutes(t, true)
	})
}

// leftPolicies: policies that an installation left behind are named, and what they refuse. The command of the pages removes them.
func (o *operator) leftPolicies(t *testing.T, check string) {
	t.Helper()
	const policies, route = `(?m)^policies on routes without a grant +`, `(?m)^a bad route in namespace shut +fail +gammaguard is not asked: the webhook is not registered`
	t.Cleanup(func() { removeGrantPolicies(t) })
	o.apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shut}}`)
	o.wants(t, check, 5, policies+`ok +none are installed: `)
	o.wants(t, check, 5, route+`$`)
	o.must(t, "gammaguard policy | kubectl apply -f -")
	o.wants(t, check, 5, policies+`unknown +are installed; the configuration that they must fit cannot be read$`)
	background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
		if code, stdout, _ := o.sh(t, check); code != 5 || !regexp.MustCompile(route+`; the route is refused all the same: .*ValidatingAdmissionPolicy 'gammaguard-route-grants'.*\(grant-missing\)$`).MatchString(stdout) {
			return stdout
		}
		return ""
	})
	o.must(t, "gammaguard policy | kubectl delete --ignore-not-found -f -")
	background.Eventually(t, func() string { // and forgotten a moment after it is gone
		if code, stdout, _ := o.sh(t, check); code != 5 || !regexp.MustCompile(route+`$`).MatchString(stdout) {
			return stdout
		}
		return ""
	})
}

// TestServiceAccountOnlyNotesThatItServed: who has the token of gammaguard's ServiceAccount
// can add it to the binding, and neither remove it, nor bind anybody else.
func TestServiceAccountOnlyNotesThatItServed(t *testing.T) {
	install(t, folder(t, "default"))
	boss, token := admin(t), tokenClient(t)
	itself := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "gammaguard-webhook"}
	try := func(name string, change func(*rbacv1.ClusterRoleBinding), options ...client.UpdateOption) error {
		binding := &rbacv1.ClusterRoleBinding{}
		if err := boss.Get(t.Context(), client.ObjectKey{Name: name}, binding); err != nil {
			return err
		}
		change(binding)
		return token.Update(t.Context(), binding, options...)
	}
	subjects := func(all ...rbacv1.Subject) func(*rbacv1.ClusterRoleBinding) {
		return func(b *rbacv1.ClusterRoleBinding) { b.Subjects = all }
	}
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'gammaguard-serving'")
	}
	background.Eventually(t, func() string {
		if err := try("gammaguard-serving", subjects(), client.DryRunAll); !refused(err) {
			return "the policy is not in force"
		}
		return ""
	})
	if err := try("gammaguard-serving", subjects(itself)); err != nil {
		t.Errorf("it adds itself: %v", err)
	}
	other := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "gammaguard-webhook"}
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "gammaguard-webhook"}
	for name, change := range map[string]func(*rbacv1.ClusterRoleBinding){
		"it removes itself": subjects(), "it adds another": subjects(itself, other), "another in its place": subjects(other), "a user": subjects(user),
		"labels":      func(b *rbacv1.ClusterRoleBinding) { b.Labels = map[string]string{"a": "b"} },
		"annotations": func(b *rbacv1.ClusterRoleBinding) { metav1.SetMetaDataAnnotation(&b.ObjectMeta, "a", "b") },
		"finalizers":  func(b *rbacv1.ClusterRoleBinding) { b.Finalizers = []string{"a.test/b"} },
		"ownerReferences": func(b *rbacv1.ClusterRoleBinding) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: system, UID: "1"}}
		},
	} {
		if err := try("gammaguard-serving", change, client.DryRunAll); !refused(err) {
			t.Errorf("%s: got %v, want that the policy refuses it", name, err)
		}
	}
	if err := try("gammaguard-serving", func(b *rbacv1.ClusterRoleBinding) { b.RoleRef.Name = "cluster-admin" }); err == nil {
		t.Error("it binds cluster-admin")
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "thief"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gammaguard-serving"},
	}
	for verb, err := range map[string]error{
		"update": try("gammaguard-webhook", subjects(itself, other)),
		"create": token.Create(t.Context(), binding),
		"delete": token.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "gammaguard-serving"}}),
		"get":    token.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: "cluster-admin"}, binding),
	} {
		if want := "cannot " + verb + " resource"; !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
