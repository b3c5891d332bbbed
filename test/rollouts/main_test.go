// Package rollouts plays the writers of routes that clusters already have, in front of a
// real API server with the gammaguard-webhook binary: stand-ins that write as Flagger, the
// Gateway API plugin of Argo Rollouts, and Flux do. gammaguard must change nothing of what
// they do, but for what it refuses and says.
package rollouts

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(bed.Run(m, bed.Options{}, &plane))
}

// A writer writes one route, and keeps a journal of what it saw, in which two runs differ
// only if something else writes, changes or refuses.
type writer struct {
	client.Client
	t *testing.T
	// namespace and name are those of the route; the Service that it attaches to has this name.
	namespace, name string
	journal         []string

	mu       sync.Mutex
	warnings []string
}

// newWriter returns a writer of a route, and makes the Service that the route attaches to.
func newWriter(t *testing.T, namespace, name string) *writer {
	t.Helper()
	w := &writer{t: t, namespace: namespace, name: name}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, gatewayv1.Install} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config := rest.CopyConfig(plane.Config)
	config.QPS, config.WarningHandler = -1, w
	var err error
	if w.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{name, "primary", "canary"} {
		w.store(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		})
	}
	return w
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *writer) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warnings = append(w.warnings, text)
}

// told reports whether a warning had the text.
func (w *writer) told(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.warnings, "\n"), text)
}

// store creates an object that may be there.
func (w *writer) store(object client.Object) {
	w.t.Helper()
	if err := w.Create(w.t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
}

func (w *writer) note(format string, args ...any) {
	w.journal = append(w.journal, fmt.Sprintf(format, args...))
}

// get returns the stored route, or nil.
func (w *writer) get() *gatewayv1.HTTPRoute {
	w.t.Helper()
	route := &gatewayv1.HTTPRoute{}
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: w.name}, route)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return route
}

// end notes what is stored in the end: its generation counts the writes that changed it.
func (w *writer) end() {
	w.t.Helper()
	route := w.get()
	if route == nil {
		w.note("nothing is stored")
		return
	}
	spec, err := json.Marshal(route.Spec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.note("stored, generation %d: %s", route.Generation, strings.ReplaceAll(string(spec), w.namespace, "NAMESPACE"))
}

// wrote notes the outcome of a write, and reports whether it succeeded.
func (w *writer) wrote(what string, err error) bool {
	if err != nil {
		w.note("%s: refused: %s", what, strings.ReplaceAll(err.Error(), w.namespace, "NAMESPACE"))
		return false
	}
	w.note("%s", what)
	return true
}

// backends are the backendRefs of a rollout that has come so far.
func backends(canary int32) []gatewayv1.HTTPBackendRef {
	ref := func(name string, weight int32) gatewayv1.HTTPBackendRef {
		object := gatewayv1.BackendObjectReference{Group: new(gatewayv1.Group), Kind: new(gatewayv1.Kind("Service")), Name: gatewayv1.ObjectName(name), Port: new(gatewayv1.PortNumber(80))}
		return gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{BackendObjectReference: object, Weight: &weight}}
	}
	return []gatewayv1.HTTPBackendRef{ref("primary", 100-canary), ref("canary", canary)}
}

// weight is what a stored route gives to the canary.
func weight(route *gatewayv1.HTTPRoute) int32 { return *route.Spec.Rules[0].BackendRefs[1].Weight }

// spec is a route to every path, on the writer's Service in that group, which may be left out.
func (w *writer) spec(group *gatewayv1.Group, canary int32) gatewayv1.HTTPRouteSpec {
	path := gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: new("/")}
	return gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{
			{Group: group, Kind: new(gatewayv1.Kind("Service")), Name: gatewayv1.ObjectName(w.name), Port: new(gatewayv1.PortNumber(80))},
		}},
		Rules: []gatewayv1.HTTPRouteRule{{Matches: []gatewayv1.HTTPRouteMatch{{Path: &path}}, BackendRefs: backends(canary)}},
	}
}
