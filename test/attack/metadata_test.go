package attack

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// metadataKeys are keys of labels and annotations that meshes read.
var metadataKeys = []string{
	"timeout.linkerd.io/request", "retry.linkerd.io/limit", "linkerd.io/inject", "istio.io/rev", "ambient.istio.io/redirection", "kuma.io/mesh",
	"service.cilium.io/global", "io.cilium/global-service", "consul.hashicorp.com/service-tags",
}

// kept is a key that the route has before: it is changed, and removed.
const kept = "timeout.linkerd.io/request"

// A metadataWay changes one label or annotation of the target's stored route; the field is
// "labels" or "annotations", and a nil value removes the key.
type metadataWay struct {
	name  string
	write func(ctx context.Context, t *target, field, key string, value any) error
}

var metadataWays = []metadataWay{
	{"update", func(ctx context.Context, t *target, field, key string, value any) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error { // its status is marked meanwhile
			route, err := t.routes.Get(ctx, t.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if value == nil {
				unstructured.RemoveNestedField(route.Object, "metadata", field, key)
			} else if err := unstructured.SetNestedField(route.Object, value, "metadata", field, key); err != nil {
				return err
			}
			_, err = t.routes.Update(ctx, route, metav1.UpdateOptions{})
			return err
		})
	}},
	{"JSON patch", func(ctx context.Context, t *target, field, key string, value any) error {
		change := object{"op": "add", "path": "/metadata/" + field + "/" + strings.ReplaceAll(key, "/", "~1"), "value": value}
		if value == nil {
			change["op"] = "remove"
		}
		return patch(ctx, t, t.name, types.JSONPatchType, []any{change})
	}},
	{"merge patch", func(ctx context.Context, t *target, field, key string, value any) error {
		return patch(ctx, t, t.name, types.MergePatchType, object{"metadata": object{field: object{key: value}}})
	}},
	{"server-side apply", func(ctx context.Context, t *target, field, key string, value any) error {
		u := t.route(t.namespace, t.name, onCart())
		// The manager that created the route owns its key, and removes it by leaving it out.
		metadata := object{kept: "1s"}
		if value == nil {
			delete(metadata, key)
		} else {
			metadata[key] = value
		}
		both := object{"labels": object{kept: "1s"}, "annotations": object{kept: "1s"}}
		both[field] = metadata
		for name, content := range both {
			if err := unstructured.SetNestedField(u.Object, content, "metadata", name); err != nil {
				return err
			}
		}
		_, err := t.routes.Apply(ctx, t.name, u, metav1.ApplyOptions{FieldManager: "first", Force: true})
		return err
	}},
	{"kubectl annotate and label", func(ctx context.Context, t *target, field, key string, value any) error {
		argument := fmt.Sprintf("%s=%v", key, value)
		if value == nil {
			argument = key + "-"
		}
		command := map[string]string{"labels": "label", "annotations": "annotate"}[field]
		if complaint := t.kubectl(ctx, "", command, "--overwrite", "-n", t.namespace, t.resource().Resource+"."+t.resource().Version+"."+t.resource().Group, t.name, argument); complaint != "" {
			return fmt.Errorf("%s", complaint)
		}
		return nil
	}},
}

// TestMetadataMatrix: once its grant is withdrawn, no label and no annotation that a mesh
// reads comes to a stored route, changes or goes, in any way, of any kind and version, and
// also while it is being deleted. All others can be changed.
func TestMetadataMatrix(t *testing.T) {
	s := start(t)
	const namespace = "metadata"
	s.namespace(t, namespace, "all")
	user := s.tenant(t)
	var targets []*target
	for i, e := range endpoints {
		for _, finalized := range []bool{false, true} {
			cell := &target{
				endpoint: e, namespace: namespace, name: fmt.Sprintf("kept-%d-%v", i, finalized),
				routes: user.Resource(e.resource()).Namespace(namespace), admin: s.admin.Resource(e.resource()).Namespace(namespace),
				kubectl: func(ctx context.Context, stdin string, args ...string) string {
					_, stderr, err := s.plane.Kubectl(ctx, stdin, append(args, "--as", tenant)...)
					if err == nil {
						return ""
					}
					return stderr
				},
			}
			targets = append(targets, cell)
			route := e.route(namespace, cell.name, onCart())
			route.SetLabels(map[string]string{kept: "1s"})
			route.SetAnnotations(map[string]string{kept: "1s"})
			options := metav1.ApplyOptions{FieldManager: "first", Force: true}
			if _, err := cell.routes.Apply(t.Context(), cell.name, route, options); err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			if finalized {
				if err := patch(t.Context(), cell, cell.name, types.MergePatchType, object{"metadata": object{"finalizers": []any{finalizer}}}); err != nil {
					t.Fatal(err)
				}
				if err := cell.routes.Delete(t.Context(), cell.name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s.grant(t, namespace, "none")
	awaitRefusal(t, user, namespace, onCart(), "grant-missing")
	var tried atomic.Int64
	var cells errgroup.Group
	cells.SetLimit(8)
	for _, cell := range targets {
		cells.Go(func() error {
			tried.Add(cell.tryMetadata(t))
			return nil
		})
	}
	_ = cells.Wait() // no cell returns an error
	t.Logf("%d changes", tried.Load())
}

// tryMetadata makes every change, in every way, to the stored route, and returns how many.
func (t *target) tryMetadata(test *testing.T) (tried int64) {
	ctx := test.Context()
	for _, w := range metadataWays {
		if strings.HasPrefix(w.name, "kubectl") && t.endpoint != http && t.endpoint != linkerdHTTP {
			continue // a process for each change
		}
		for _, field := range []string{"labels", "annotations"} {
			for _, key := range metadataKeys {
				values := []any{"2s"}
				if key == kept {
					values = append(values, nil)
				}
				for _, value := range values {
					tried++
					if err := w.write(ctx, t, field, key, value); err == nil || !strings.Contains(err.Error(), "(grant-missing)") {
						test.Errorf("%v %s, %s of %s to %v: want that the grant is missing, got: %v", t.endpoint, t.name, w.name, key, value, err)
					}
				}
			}
			for i, value := range []any{"a", "b", nil} {
				if w.name == "server-side apply" && value == nil {
					continue
				}
				if err := w.write(ctx, t, field, "example.com/note", value); err != nil {
					test.Errorf("%v %s, %s of a note, change %d: %v", t.endpoint, t.name, w.name, i, err)
				}
			}
		}
	}
	route, err := t.admin.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		test.Error(err)
		return tried
	}
	for _, have := range []map[string]string{route.GetLabels(), route.GetAnnotations()} {
		for _, key := range metadataKeys {
			if value, set := have[key]; set != (key == kept) || set && value != "1s" {
				test.Errorf("%v %s is stored with %s=%s", t.endpoint, t.name, key, value)
			}
		}
	}
	return tried
}

// TestLargeMetadata: of routes as large as can be stored, nearly all of it labels and
// annotations, the match conditions hold: what counts is refused without the grant, and the
// rest passes. Annotations have 256 KiB at most; labels have no limit of their own, but their keys are
// stored in the managed fields again, and etcd takes 1.5 MiB in all. config.TestMatchConditionsCost has
// more and smaller ones, of which the API server alone takes minutes to keep the managed fields.
func TestLargeMetadata(t *testing.T) {
	s := start(t)
	const namespace = "large-metadata"
	s.namespace(t, namespace, "all")
	user := s.tenant(t)
	fill := func(n int, name, value string) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("%s%05d", name, i)] = value
		}
		return all
	}
	store := func(name string, parent parent) *target {
		t.Helper()
		cell := &target{endpoint: http, namespace: namespace, name: name, routes: user.Resource(httpRoutes).Namespace(namespace)}
		route := http.route(namespace, name, parent)
		route.SetLabels(fill(13_000, "n", strings.Repeat("v", 63)))
		route.SetAnnotations(fill(1_000, "a", strings.Repeat("v", 250)))
		stored, err := cell.routes.Create(t.Context(), route, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%.500s", err.Error())
		}
		if text, err := stored.MarshalJSON(); err != nil || len(text) < 1_400_000 {
			t.Errorf("%s has %d bytes: %v", name, len(text), err)
		}
		return cell
	}
	onMesh, onGateway := store("on-mesh", onCart()), store("on-gateway", gatewayParent())
	s.grant(t, namespace, "none")
	awaitRefusal(t, user, namespace, onCart(), "grant-missing")
	write := func(cell *target, metadata object) (time.Duration, error) {
		began := time.Now()
		err := patch(t.Context(), cell, cell.name, types.MergePatchType, object{"metadata": metadata})
		return time.Since(began), err
	}
	for _, change := range []struct {
		name     string
		metadata object
		refused  bool
	}{
		{"a label", object{"labels": object{"team": "b"}}, false},
		{"an annotation", object{"annotations": object{"a00001": "b"}}, false},
		{"a finalizer", object{"finalizers": []any{finalizer}}, false},
		{"a mesh's label", object{"labels": object{"istio.io/rev": "b"}}, true},
		{"a mesh's annotation", object{"annotations": object{"timeout.linkerd.io/request": "1ms"}}, true},
		{"all labels and annotations go", object{"labels": nil, "annotations": nil}, false},
		{"a mesh's annotation, of few", object{"annotations": object{"timeout.linkerd.io/request": "1ms"}}, true},
	} {
		alone, err := write(onGateway, change.metadata)
		if err != nil {
			t.Fatalf("%s, on a Gateway: %.500s", change.name, err.Error())
		}
		took, err := write(onMesh, change.metadata)
		if change.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "(grant-missing)") {
			t.Errorf("%s: refused %v, got %.500s", change.name, change.refused, fmt.Sprint(err))
		}
		t.Logf("%s: %s, on a Gateway %s", change.name, took, alone)
	}
}
