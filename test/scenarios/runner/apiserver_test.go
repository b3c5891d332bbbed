package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// apiServer plays scenarios with the real kubectl on a real API server, with the
// real gammaguard-webhook in front of it. Scenarios with the same configuration
// share one process: play them one after the other (see Sort).
type apiServer struct {
	plane *bed.ControlPlane
	// client's requests pass all admission control of gammaguard.
	client client.Client
	// running is the present process, and environment that of its scenarios.
	running     *guard.Guard
	environment environment
	barrier     *barrier
}

// environment is what scenarios must have alike to share a process.
type environment struct {
	config string
	// without: ServiceImport is not served.
	without bool
}

// environmentOf returns the scenario's environment.
func environmentOf(scenario *Scenario) environment {
	return environment{compact(scenario.Config), slices.ContainsFunc(scenario.Documents(), (*Document).isServiceImportCRD)}
}

// Sort puts scenarios of one environment side by side, those with mistakes first, and
// else keeps their order.
func Sort(scenarios []*Scenario) {
	first := map[environment]int{}
	position := func(scenario *Scenario) int {
		if scenario.Mistakes != nil {
			return -1
		}
		return first[environmentOf(scenario)]
	}
	for i, scenario := range scenarios {
		if _, seen := first[environmentOf(scenario)]; !seen {
			first[environmentOf(scenario)] = i
		}
	}
	slices.SortStableFunc(scenarios, func(a, b *Scenario) int { return position(a) - position(b) })
}

// cluster is the user who creates the objects of cluster.yaml. The webhooks and
// policies of gammaguard, as they are registered here, are not for it.
const cluster = "scenario:cluster"

// users gives every user who is authenticated the rights that scenarios take for
// granted: routes and what they refer to, and namespaces, but not the grants of
// mesh admins.
const users = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scenario-users}
rules:
- {apiGroups: [gateway.networking.k8s.io, multicluster.x-k8s.io, discovery.k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [services, namespaces, namespaces/status, namespaces/finalize], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scenario-users}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scenario-users}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:authenticated}]
`

// newAPIServer starts a control plane and installs what gammaguard needs. The
// caller must close it.
func newAPIServer(ctx context.Context) (*apiServer, error) {
	options := bedOptions
	options.AllVersions = true
	plane, err := bed.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	d := &apiServer{plane: plane}
	if err := d.install(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *apiServer) install(ctx context.Context) error {
	if _, err := envtest.InstallCRDs(d.plane.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{serviceProfile.DeepCopy()}}); err != nil {
		return err
	}
	config := rest.CopyConfig(d.plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: cluster, Groups: []string{"system:masters"}}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	var err error
	if d.client, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return err
	}
	if err := guard.Install(ctx, d.plane, cluster); err != nil {
		return err
	}
	if _, stderr, err := d.plane.Kubectl(ctx, users, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	d.barrier = &barrier{client: d.client}
	return nil
}

// close stops gammaguard and the control plane.
func (d *apiServer) close() error { return errors.Join(d.stop(), d.plane.Stop()) }

func (d *apiServer) stop() error {
	running := d.running
	d.running = nil
	if running == nil {
		return nil
	}
	return running.Stop()
}

// Name returns "apiserver".
func (*apiServer) Name() string { return "apiserver" }

// Begin makes sure that gammaguard runs with the scenario's configuration.
func (d *apiServer) Begin(ctx context.Context, scenario *Scenario) (Session, error) {
	wanted := environmentOf(scenario)
	if d.running == nil || d.environment != wanted {
		if err := d.restart(ctx, wanted); err != nil {
			return nil, err
		}
		if err := d.barrier.begin(ctx, scenario.Config); err != nil {
			return nil, err
		}
	}
	s := &apiSession{apiServer: d, scenario: scenario, rivals: rivals(scenario)}
	if err := s.createNamespaces(ctx); err != nil {
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// restart stops what runs and starts gammaguard anew.
func (d *apiServer) restart(ctx context.Context, wanted environment) error {
	if err := d.stop(); err != nil {
		return err
	}
	if d.environment.without != wanted.without {
		if err := d.serveImports(ctx, !wanted.without); err != nil {
			return err
		}
	}
	d.environment = wanted
	var err error
	d.running, err = guard.Start(ctx, d.plane, guard.Options{Config: wanted.config, Args: []string{"--shutdown-delay=0s"}, Exempt: cluster})
	return err
}

// serveImports installs or removes the definition of ServiceImport.
func (d *apiServer) serveImports(ctx context.Context, serve bool) error {
	definitions, err := bed.CustomResourceDefinitions(ctx, bedOptions)
	if err != nil {
		return err
	}
	definitions = slices.DeleteFunc(definitions, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name != serviceImports })
	if serve {
		_, err = envtest.InstallCRDs(d.plane.Config, envtest.CRDInstallOptions{CRDs: definitions})
	} else {
		err = envtest.UninstallCRDs(d.plane.Config, envtest.CRDInstallOptions{CRDs: definitions})
	}
	if err != nil {
		return err
	}
	return poll(ctx, time.Minute, func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(mesh.MulticlusterGroup + "/v1alpha1")
		list.SetKind(mesh.ServiceImportKind + "List")
		err := d.client.List(ctx, list)
		return (err == nil) == serve, ignoreNotThere(err)
	})
}

// ignoreNotThere returns no error for an object that does not exist, or whose kind
// is not served.
func ignoreNotThere(err error) error {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// poll waits until done, and returns context.DeadlineExceeded where that takes
// longer than the limit.
func poll(ctx context.Context, limit time.Duration, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, limit, true, done)
}

// isNamespace reports whether the object is a Namespace.
func isNamespace(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace")
}
