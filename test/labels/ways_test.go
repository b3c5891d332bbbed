package labels_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// way is a way to change the labels of a stored namespace.
type way struct {
	name string
	// change writes the namespace, whose labels are as they are to be.
	change func(ctx context.Context, c client.Client, n *corev1.Namespace) error
}

func ways() []way {
	return []way{
		{"update", func(ctx context.Context, c client.Client, n *corev1.Namespace) error { return c.Update(ctx, n) }},
		{"patch", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Patch(ctx, n, labelPatch(n))
		}},
		{"strategic merge patch", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Patch(ctx, n, client.RawPatch(types.StrategicMergePatchType, labelsAndAnnotations(n)))
		}},
		{"JSON patch", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Patch(ctx, n, jsonPatch(n))
		}},
		{"server-side apply", apply},
		{"update of status", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Status().Update(ctx, n)
		}},
		{"patch of status", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Status().Patch(ctx, n, labelPatch(n))
		}},
		{"JSON patch of status", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.Status().Patch(ctx, n, jsonPatch(n))
		}},
		{"finalize", func(ctx context.Context, c client.Client, n *corev1.Namespace) error {
			return c.SubResource("finalize").Update(ctx, n)
		}},
	}
}

// The guarded annotations, with one that means nothing. All other keys that these tests set
// are labels.
const (
	routesFrom = "gammaguard.dev/consumer-routes-from"
	routeKinds = "gammaguard.dev/consumer-route-kinds"
	grantKinds = "gammaguard.dev/grant-route-kinds"
	inCapitals = "GammaGuard.DEV/Grant"
)

// scrape is the label by which the NetworkPolicy of config/base lets a namespace read metrics.
const scrape = "gammaguard.dev/scrape"

// set gives the namespace these labels and annotations.
func set(n *corev1.Namespace, values map[string]string) {
	n.Labels, n.Annotations = map[string]string{}, map[string]string{}
	for key, value := range values {
		if key == routesFrom || key == routeKinds || key == grantKinds || key == inCapitals {
			n.Annotations[key] = value
		} else {
			n.Labels[key] = value
		}
	}
}

func labelPatch(n *corev1.Namespace) client.Patch {
	return client.RawPatch(types.MergePatchType, labelsAndAnnotations(n))
}

// jsonPatch replaces all labels and annotations by those of n.
func jsonPatch(n *corev1.Namespace) client.Patch {
	return client.RawPatch(types.JSONPatchType, fmt.Appendf(nil,
		`[{"op":"add","path":"/metadata/labels","value":%s},{"op":"add","path":"/metadata/annotations","value":%s}]`, asJSON(n.Labels), asJSON(n.Annotations)))
}

func asJSON(values map[string]string) []byte {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // maps of strings can be marshaled
	}
	return text
}

// labelsAndAnnotations is the body of a merge patch that makes the labels and annotations
// those of n, of the ones that these tests set.
func labelsAndAnnotations(n *corev1.Namespace) []byte {
	fields := func(values map[string]string, keys ...string) string {
		var all []string
		for _, key := range keys {
			value := "null"
			if v, there := values[key]; there {
				value = fmt.Sprintf("%q", v)
			}
			all = append(all, fmt.Sprintf("%q:%s", key, value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	return fmt.Appendf(nil, `{"metadata":{"labels":%s,"annotations":%s}}`,
		fields(n.Labels, mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel, scrape, "team"),
		fields(n.Annotations, routesFrom, routeKinds, grantKinds, inCapitals))
}

func mustClient(t *testing.T, user string) client.Client {
	t.Helper()
	c, err := as(user)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stored creates a namespace of a fresh name as the administrator does. It is
// applied by the field owner of these tests, so that its labels are theirs alone.
func stored(t *testing.T, values map[string]string) *corev1.Namespace {
	t.Helper()
	c, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := namespace(fmt.Sprintf("labels-%d", fresh.Add(1)))
	set(n, values)
	if err := apply(t.Context(), c, n); err != nil {
		t.Fatal(err)
	}
	return n
}

var fresh atomic.Int32

// apply is server-side apply of what a user would write.
func apply(ctx context.Context, c client.Client, n *corev1.Namespace) error {
	written := namespace(n.Name)
	written.Labels, written.Annotations = maps.Clone(n.Labels), n.Annotations
	delete(written.Labels, corev1.LabelMetadataName)
	return c.Patch(ctx, written, client.Apply, client.FieldOwner("test"), client.ForceOwnership) //nolint:staticcheck // typed objects suffice
}

// valuesNow reads the labels, without the one that the API server sets, and the
// annotations.
func valuesNow(t *testing.T, name string) map[string]string {
	t.Helper()
	n := &corev1.Namespace{}
	if err := mustClient(t, "editor").Get(t.Context(), client.ObjectKey{Name: name}, n); err != nil {
		t.Fatal(err)
	}
	delete(n.Labels, corev1.LabelMetadataName)
	maps.Copy(n.Labels, n.Annotations)
	return n.Labels
}

func refusal(user, changed, namespace string) string {
	return fmt.Sprintf(`namespaces "%s" is forbidden: ValidatingAdmissionPolicy 'gammaguard-grants' with binding 'gammaguard-grants' denied request: `+
		`user "%s" may not change %s of namespace "%s"; this needs a ClusterRoleBinding to a ClusterRole `+
		`with the verb update on grants.gammaguard.dev "%s", such as gammaguard-mesh-admin`, namespace, user, changed, namespace, namespace)
}

func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Fatalf("want 403 Forbidden, got %v", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// relabel gives the stored namespace these labels and annotations.
func relabel(t *testing.T, c client.Client, way way, name string, values map[string]string) error {
	t.Helper()
	n := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, n); err != nil {
		t.Fatal(err)
	}
	set(n, values)
	n.Labels[corev1.LabelMetadataName] = name
	n.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	return way.change(t.Context(), c, n)
}

func wantValues(t *testing.T, name string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, valuesNow(t, name), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("labels and annotations of %s (-want +got):\n%s", name, diff)
	}
}
