package labels_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// The granted namespaces that have as many labels, or annotations, as can be stored in one
// request, from before the policy.
const (
	crowdedByLabels, crowdedByAnnotations = "crowded-labels", "crowded-annotations"
	crowdedLabels, crowdedAnnotations     = 70_000, 50_000
)

// crowd creates them.
func crowd(ctx context.Context, admin client.Client) error {
	many := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[shortKey(i)] = ""
		}
		return all
	}
	labels, annotations := namespace(crowdedByLabels), namespace(crowdedByAnnotations, mesh.GrantLabel, "all")
	labels.Labels, annotations.Annotations = many(crowdedLabels), many(crowdedAnnotations)
	labels.Labels[mesh.GrantLabel], annotations.Annotations[routesFrom] = "all", "a=b"
	if err := admin.Create(ctx, labels); err != nil {
		return err
	}
	return admin.Create(ctx, annotations)
}

// shortKey is the shortest key that has not been used.
func shortKey(i int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	key := ""
	for i++; i > 0; i /= len(digits) {
		key = string(digits[i%len(digits)]) + key
	}
	return key
}

// TestSizes: where a namespace has as many labels or annotations as can be stored, a mesh
// admin who may only patch can withdraw its grant, and change nothing of others; and who may
// update it can clean up, and not add to them.
func TestSizes(t *testing.T) {
	give(t, clusterBinding("gammaguard-mesh-admin", "withdrawer"))
	awaitRight(t, "withdrawer", authorizationv1.ResourceAttributes{Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: crowdedByLabels})
	admin, editor := mustClient(t, "withdrawer"), mustClient(t, "editor")
	const (
		pass   = ""
		others = "is a mesh admin, and may change only the gammaguard.dev labels and annotations"
		guard  = "may not change gammaguard.dev/"
		raises = "a namespace can have at most 1,000 labels and 1,000 annotations"
	)
	for _, test := range []struct {
		who         client.Client
		name, patch string
		want        string
		dry         bool
	}{
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none","1":"x"}}`, others, false},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none","1":null}}`, others, false},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":null,"new":""}}`, raises, false},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none"},"annotations":{"team":"x"}}`, others, false},
		{editor, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none"}}`, guard, false},
		{editor, crowdedByLabels, `{"labels":{"gammaguard.dev/scrape":"allow","1":null}}`, guard, false},
		{editor, crowdedByLabels, `{"labels":{"new":""}}`, raises, false},
		{editor, crowdedByLabels, `{"labels":{"1":"x"}}`, pass, true},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none"}}`, pass, true},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":null}}`, pass, true},
		{admin, crowdedByLabels, `{"labels":{"gammaguard.dev/grant":"none","gammaguard.dev/mode":"enforce"}}`, pass, false},
		{admin, crowdedByAnnotations, `{"annotations":{"1":"x"},"labels":{"gammaguard.dev/grant":"none"}}`, others, false},
		{admin, crowdedByAnnotations, `{"annotations":{"gammaguard.dev/consumer-routes-from":null,"1":null}}`, others, false},
		{editor, crowdedByAnnotations, `{"annotations":{"gammaguard.dev/consumer-routes-from":null}}`, guard, false},
		{editor, crowdedByAnnotations, `{"annotations":{"new":""}}`, raises, false},
		{admin, crowdedByAnnotations, `{"annotations":{"gammaguard.dev/consumer-routes-from":null}}`, pass, true},
		{admin, crowdedByAnnotations, `{"annotations":{"gammaguard.dev/consumer-routes-from":"!a"},"labels":{"gammaguard.dev/grant":"none"}}`, pass, false},
		{editor, crowdedByLabels, `{"labels":null}`, guard, false},
		{editor, crowdedByAnnotations, `{"annotations":{"1":null,"2":null}}`, pass, false},
	} {
		n := namespace(test.name)
		var options []client.PatchOption
		if test.dry {
			options = append(options, client.DryRunAll)
		}
		began := time.Now()
		err := test.who.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":%s}`, test.patch)), options...)
		took := time.Since(began)
		if test.want == pass && err != nil || test.want != pass && (!apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: got %v, want %q", test.name, test.patch, err, test.want)
		}
		t.Logf("%s, %s: %v", test.name, test.patch, took)
	}
	for name, want := range map[string]int{crowdedByLabels: crowdedLabels, crowdedByAnnotations: crowdedAnnotations - 2} {
		n := &corev1.Namespace{}
		if err := editor.Get(t.Context(), client.ObjectKey{Name: name}, n); err != nil {
			t.Fatal(err)
		}
		if n.Labels[mesh.GrantLabel] != "none" || len(n.Labels)+len(n.Annotations) < want {
			t.Errorf("%s: grant %q, %d labels, %d annotations", name, n.Labels[mesh.GrantLabel], len(n.Labels), len(n.Annotations))
		}
	}
}
