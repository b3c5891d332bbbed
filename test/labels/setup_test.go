// Package labels_test tries the guarded namespace labels on a real API server with
// its RBAC authorizer: what config/default installs, and nothing else of
// gammaguard.
package labels_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) { os.Exit(bed.Run(installed{m}, bed.Options{}, &plane)) }

// installed runs the tests once config/default is installed and in force.
type installed struct{ *testing.M }

func (i installed) Run() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := install(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return i.M.Run()
}

func install(ctx context.Context) error {
	admin, err := client.New(plane.Config, client.Options{})
	if err != nil {
		return err
	}
	if err := admin.Create(ctx, namespace("legacy", mesh.GrantLabel, "some")); err != nil {
		return err
	}
	if err := crowd(ctx, admin); err != nil {
		return err
	}
	if _, stderr, err := applyDefault(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	for _, object := range roles() {
		if err := admin.Create(ctx, object); err != nil {
			return err
		}
	}
	editor, err := as("editor")
	if err != nil {
		return err
	}
	// The API server takes up a policy, and roles, a moment after they are stored.
	var last error
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = editor.Create(ctx, namespace("probe", mesh.GrantLabel, "all"), client.DryRunAll)
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "gammaguard-mesh-admin"), nil
	})
	if err != nil {
		return fmt.Errorf("the policy does not come into force: %w: %w", err, last)
	}
	return nil
}

// applyDefault applies config/base, which config/default is made of, as it is
// embedded, so that a change of the files is a change of this test.
func applyDefault(ctx context.Context) (stdout, stderr string, err error) {
	dir, err := plane.TempDir("config")
	if err != nil {
		return "", "", err
	}
	if err := os.CopyFS(dir, config.Manifests); err != nil {
		return "", "", err
	}
	return plane.Kubectl(ctx, "", "apply", "-k", filepath.Join(dir, "base"))
}

// everything is the ClusterRole of those who may do anything with namespaces.
const everything = "namespace-editor"

// roles bind the users of these tests:
//
//	editor      may do anything with any namespace
//	mesh-admin  is what the ClusterRole makes of its group
//	boss        is editor and mesh admin
func roles() []client.Object {
	return []client.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: everything},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"}, Verbs: []string{"*"},
			}},
		},
		clusterBinding(everything, "editor", "boss"),
		clusterBinding("gammaguard-mesh-admin", "mesh-admin", "boss"),
	}
}

func clusterBinding(role string, users ...string) client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role + "-" + users[0]},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects(users),
	}
}

func binding(namespace, role string, users ...string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role + "-" + users[0]},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects(users),
	}
}

func subjects(users []string) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, user := range users {
		subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	return subjects
}

// as returns a client of that user.
func as(user string) (client.Client, error) {
	impersonating := rest.CopyConfig(plane.Config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return client.New(impersonating, client.Options{})
}

// namespace returns a namespace with labels: key, value, key, value.
func namespace(name string, labels ...string) *corev1.Namespace {
	n := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := 0; i < len(labels); i += 2 {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[labels[i]] = labels[i+1]
	}
	return n
}
