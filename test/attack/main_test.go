// Package attack tries to get round gammaguard: on a real API server, with the
// gammaguard-webhook binary in front of it and the rights that it has where it is
// installed. The table of attacks in table_test.go lists them all, with those that
// other packages try; docs/attacks.md shows it.
package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// tenant is the attacker: a user who may do anything with routes, in each namespace,
// and nothing else.
const tenant = "tenant"

// site is a control plane with gammaguard in front of it.
type site struct {
	plane *bed.ControlPlane
	guard *guard.Guard
	admin dynamic.Interface
}

// started starts the site when the first test needs it, so that the tests of the page
// take no time.
var started = sync.OnceValues(func() (*site, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// All versions are served, as in clusters that had the experimental channel before.
	plane, err := bed.Start(ctx, served)
	if err != nil {
		return nil, err
	}
	s := &site{plane: plane}
	if err := s.install(ctx); err != nil {
		return s, err
	}
	s.guard, err = guard.Start(ctx, s.plane, guard.Options{})
	return s, err
})

var served = bed.Options{Experimental: true, AllVersions: true, MultiCluster: true}

// policiesAlone starts a site with what 'gammaguard policy' writes for the default
// configuration, and without gammaguard and its webhooks. It ends with the test.
func policiesAlone(t *testing.T) *site {
	t.Helper()
	plane, err := bed.Start(t.Context(), served)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{plane: plane}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := guard.InstallPolicies(t.Context(), plane, config.Default().Policy()); err != nil {
		t.Fatal(err)
	}
	return s
}

var usesSite bool

func TestMain(m *testing.M) {
	if os.Getenv(attackerURL) != "" {
		os.Exit(runAttacker())
	}
	ctrllog.SetLogger(logr.Discard())
	code := m.Run()
	if usesSite {
		if s, _ := started(); s != nil {
			if err := s.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "error:", err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

func (s *site) install(ctx context.Context) (err error) {
	if s.admin, err = s.as(""); err != nil {
		return err
	}
	if err := s.define(ctx); err != nil {
		return err
	}
	if err := guard.Install(ctx, s.plane); err != nil {
		return err
	}
	const rights = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: routes},
 rules: [{apiGroups: [gateway.networking.k8s.io, policy.linkerd.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: routes},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: routes},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + tenant + `}]}
`
	if _, stderr, err := s.plane.Kubectl(ctx, rights, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	return nil
}

func (s *site) stop() error {
	var err error
	if s.guard != nil {
		err = s.guard.Stop()
	}
	return errors.Join(err, s.plane.Stop())
}

// as returns a client of that user without a rate limit, or the administrator's.
func (s *site) as(user string) (dynamic.Interface, error) {
	config := rest.CopyConfig(s.plane.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	return dynamic.NewForConfig(config)
}

// start returns the site that all tests share.
func start(t testing.TB) *site {
	t.Helper()
	usesSite = true
	s, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tenant returns the attacker's client.
func (s *site) tenant(t testing.TB) dynamic.Interface {
	t.Helper()
	c, err := s.as(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	http       = endpoint{"HTTPRoute", "v1"}
	httpRoutes = http.resource()
	imports    = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "serviceimports"}
)

// object is the content of an object, or a part of it.
type object = map[string]any

// apply stores an object as the administrator does.
func (s *site) apply(t testing.TB, resource schema.GroupVersionResource, namespace string, o object) {
	t.Helper()
	u := &unstructured.Unstructured{Object: o}
	_, err := s.admin.Resource(resource).Namespace(namespace).
		Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "admin", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// namespace makes a namespace with this grant, and a Service cart in it.
func (s *site) namespace(t testing.TB, name, grant string) {
	t.Helper()
	s.grant(t, name, grant)
	s.service(t, name, "cart", object{"ports": []any{
		object{"name": "http", "port": int64(80), "protocol": "TCP"}, object{"name": "dns", "port": int64(80), "protocol": "UDP"},
	}})
}

// grant gives a namespace this grant, or creates it so.
func (s *site) grant(t testing.TB, name, grant string) {
	t.Helper()
	s.apply(t, namespaces, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
		"name": name, "labels": object{"gammaguard.dev/grant": grant},
	}})
}

func (s *site) service(t testing.TB, namespace, name string, spec object) {
	t.Helper()
	s.apply(t, services, namespace, object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name, "namespace": namespace}, "spec": spec,
	})
}
