package policies_test

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/grants"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

var seed = flag.Uint64("grant-seed", 36, "where the random routes, namespaces, and configurations begin")

// warned are the warnings that the API server sends.
type warned struct {
	sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, text)
}

// TestRandom: a real API server decides about random creations as the engine does, and says
// the engine's first finding, to users and groups who may write routes. What it refuses for its
// schema is not compared.
func TestRandom(t *testing.T) {
	const configurations, requests, namespaces = 5, 300, 20
	c, admin := grants.New(*seed), administrator(t)
	kubectl(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: random},
 rules: [{apiGroups: [gateway.networking.k8s.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: random},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: random},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]}`, "apply", "-f", "-")
	compared := map[validate.Action]int{}
	for n := range configurations {
		policy := c.Configuration().Policy()
		engine, err := validate.New(rules.Catalog(), policy)
		if err != nil {
			t.Fatal(err)
		}
		var all []*corev1.Namespace
		for i := range namespaces {
			namespace := c.Namespace()
			namespace.Name = fmt.Sprintf("random-%d-%d", n, i)
			if err := admin.Create(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
			all = append(all, namespace)
		}
		if err := guard.InstallPolicies(t.Context(), plane, policy); err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			r := c.Request(all[i%namespaces], mesh.RouteKinds()...)
			valid(r)
			if strings.ContainsAny(r.User.Name, "\n") { // which no header takes
				r.User.Name = "jane"
			}
			want, err := r.Judged(engine)
			if err != nil {
				t.Fatal(err)
			}
			got, said, served := dryRun(t, r)
			if !served {
				continue
			}
			compared[want.Effect]++
			shown := want.Effect
			if shown == validate.Audit { // as admitted
				shown = validate.Off
			}
			if got != shown || got != validate.Off && !strings.HasSuffix(said, ": "+want.Message) {
				t.Errorf("labels %v, user %+v\n%s\nengine: %s %s\nAPI server: %s %s", r.Namespace.Labels, r.User, grants.Encoded(r.Route), want.Effect, want.Message, got, said)
			}
		}
	}
	if err := guard.RemovePolicies(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range compared {
		total += n
	}
	if t.Log(compared); total < 500 || compared[validate.Deny] < 20 || compared[validate.Warn] < 20 || compared[validate.Audit] < 20 {
		t.Errorf("only %v are compared", compared)
	}
}

// valid makes a creation of the request that the definitions take, most of the time.
func valid(r *grants.Request) {
	r.Old = nil
	delete(r.Route["metadata"].(map[string]any), "deletionTimestamp")
	spec, ok := r.Route["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		r.Route["spec"] = spec
	}
	spec["rules"] = []any{map[string]any{"backendRefs": []any{map[string]any{"name": "cart", "port": int64(80)}}}}
	if r.Kind == mesh.TLSRoute {
		spec["hostnames"] = []any{"a.test"}
	}
	refs, _ := spec["parentRefs"].([]any)
	for i, item := range refs {
		ref := item.(map[string]any)
		ref["name"] = fmt.Sprintf("cart-%d", i)
		if group, set := ref["group"].(string); set {
			group, _, _ = strings.Cut(group, "/")
			ref["group"] = strings.ToLower(group)
		}
	}
}

func administrator(t *testing.T) client.Client {
	t.Helper()
	c, err := plane.Client(corev1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dryRun tries to create the route. It is not served where the schema refuses it, or where the
// kind is not served in this version.
func dryRun(t *testing.T, r *grants.Request) (effect validate.Action, said string, served bool) {
	t.Helper()
	version := "v1"
	if r.Kind == mesh.TCPRoute || r.Kind == mesh.UDPRoute {
		version = "v1alpha2"
	}
	config, warnings := rest.CopyConfig(plane.Config), &warned{}
	config.QPS, config.WarningHandler = -1, warnings
	config.Impersonate = rest.ImpersonationConfig{UserName: r.User.Name, Groups: append(r.User.Groups, "system:authenticated")}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: r.Route}
	object.SetAPIVersion(mesh.GatewayGroup + "/" + version)
	object.SetResourceVersion("")
	resource := object.GroupVersionKind().GroupVersion().WithResource(r.Kind.Resource())
	_, err = c.Resource(resource).Namespace(r.Namespace.Name).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		for _, text := range warnings.texts {
			if strings.Contains(text, "(grant-missing)") {
				return validate.Warn, text, true
			}
		}
		return validate.Off, "", true
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		return validate.Deny, err.Error(), true
	case apierrors.IsInvalid(err) || apierrors.ReasonForError(err) == metav1.StatusReasonNotFound || apierrors.ReasonForError(err) == metav1.StatusReasonBadRequest:
		return "", "", false
	}
	t.Fatal(err)
	return "", "", false
}
