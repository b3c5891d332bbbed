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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// APIServer plays scenarios with the real kubectl on a real API server, with the
// real gammaguard-webhook in front of it. Scenarios with the same configuration
// share one process: play them one after the other (see Sort).
type APIServer struct {
	plane *bed.ControlPlane
	// client's requests pass all admission control of gammaguard.
	client client.Client
	// served says whether the definition of ServiceImport is installed.
	served bool
	// running is the present process, and of what kind it is.
	running     *guard.Guard
	environment environment
	barrier     *barrier
	ages        ages
}

// environment is what scenarios must have alike to share a process.
type environment struct {
	config string
	served bool
}

// environmentOf returns the scenario's environment.
func environmentOf(scenario *Scenario) (environment, error) {
	text, err := yaml.Marshal(scenario.Config)
	return environment{config: string(text), served: !scenario.withoutServiceImports()}, err
}

// Sort puts scenarios of one environment side by side, and else keeps their order.
func Sort(scenarios []*Scenario) {
	first := map[environment]int{}
	rank := map[*Scenario]int{}
	for i, scenario := range scenarios {
		env, err := environmentOf(scenario)
		if err != nil {
			continue // Begin reports it
		}
		if _, seen := first[env]; !seen {
			first[env] = i
		}
		rank[scenario] = first[env]
	}
	slices.SortStableFunc(scenarios, func(a, b *Scenario) int { return rank[a] - rank[b] })
}

// NewAPIServer starts a control plane and installs what gammaguard needs. The
// caller must Close it.
func NewAPIServer(ctx context.Context) (*APIServer, error) {
	plane, err := bed.Start(ctx, bedOptions)
	if err != nil {
		return nil, err
	}
	d := &APIServer{plane: plane, served: true}
	if err := d.install(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *APIServer) install(ctx context.Context) error {
	config := rest.CopyConfig(d.plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: cluster, Groups: []string{"system:masters"}}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	var err error
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if d.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := d.serveAllVersions(ctx); err != nil {
		return fmt.Errorf("serve all versions of routes: %w", err)
	}
	if err := guard.Install(ctx, d.plane); err != nil {
		return err
	}
	if err := d.letUsersIn(ctx); err != nil {
		return fmt.Errorf("give users their rights: %w", err)
	}
	if err := d.passThrough(ctx); err != nil {
		return fmt.Errorf("let the objects of cluster.yaml pass: %w", err)
	}
	d.barrier = &barrier{client: d.client}
	return d.barrier.create(ctx)
}

// Close stops gammaguard and the control plane.
func (d *APIServer) Close() error { return errors.Join(d.stop(), d.plane.Stop()) }

func (d *APIServer) stop() error {
	if d.running == nil {
		return nil
	}
	running := d.running
	d.running = nil
	return running.Stop()
}

// Name returns "apiserver".
func (*APIServer) Name() string { return "apiserver" }

// Begin sees to it that gammaguard runs with the scenario's configuration.
func (d *APIServer) Begin(ctx context.Context, scenario *Scenario) (Session, error) {
	wanted, err := environmentOf(scenario)
	if err != nil {
		return nil, err
	}
	if d.running == nil || d.environment != wanted {
		if err := d.restart(ctx, wanted); err != nil {
			return nil, err
		}
	}
	s := &apiSession{APIServer: d, scenario: scenario}
	d.ages.begin(scenario)
	if err := s.createNamespaces(ctx); err != nil {
		return nil, errors.Join(err, s.End(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// restart stops what runs and starts gammaguard anew.
func (d *APIServer) restart(ctx context.Context, wanted environment) error {
	if err := d.stop(); err != nil {
		return err
	}
	if d.served != wanted.served {
		if err := d.serveImports(ctx, wanted.served); err != nil {
			return err
		}
	}
	var err error
	d.environment = wanted
	d.running, err = guard.Start(ctx, d.plane, guard.Options{
		Config: wanted.config, Args: []string{"--shutdown-delay=0s"},
	})
	if err != nil {
		return err
	}
	return d.reached(ctx)
}

// serveAllVersions serves older versions of routes too, as clusters do that had
// the experimental channel before.
func (d *APIServer) serveAllVersions(ctx context.Context) error {
	for _, kind := range mesh.RouteKinds() {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := d.client.Get(ctx, client.ObjectKey{Name: kind.Resource() + "." + mesh.GatewayGroup}, definition); err != nil {
			return err
		}
		before := definition.DeepCopy()
		for i := range definition.Spec.Versions {
			definition.Spec.Versions[i].Served = true
		}
		if err := d.client.Patch(ctx, definition, client.MergeFrom(before)); err != nil {
			return err
		}
		for _, version := range definition.Spec.Versions {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion(mesh.GatewayGroup + "/" + version.Name)
			list.SetKind(string(kind) + "List")
			err := poll(ctx, effectTimeout, func(ctx context.Context) (bool, error) {
				err := d.client.List(ctx, list)
				return err == nil, ignoreNotServed(err)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ignoreNotServed returns no error for a kind that is not served.
func ignoreNotServed(err error) error {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// object returns the document as a client of the API server has it.
func (d *Document) object() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	err := object.UnmarshalJSON(d.JSON)
	return object, err
}

// poll waits until done, as long as it takes but no longer than the API server's
// and gammaguard's own deadlines.
func poll(ctx context.Context, limit time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
