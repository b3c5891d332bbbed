package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// combinations is how many routes TestMatrix tries to have stored.
func combinations() int { return len(ways) * len(endpoints) * len(meshParents()) }

// TestMatrix has a user without a grant, but with all rights on routes, write every
// kind of route in every version, in every way, with every parent. None is stored.
func TestMatrix(t *testing.T) { start(t).refuseAll(t) }

// TestMatrixByPolicies is TestMatrix where the API server has the policies on grants, and no
// webhook of gammaguard.
func TestMatrixByPolicies(t *testing.T) { policiesAlone(t).refuseAll(t) }

func (s *site) refuseAll(t *testing.T) {
	t.Helper()
	s.namespace(t, "shop", "none")
	s.namespace(t, "matrix", "none")
	parents := meshParents()
	var tried atomic.Int64
	s.everyCell(t, "matrix", func(cell *target, w way) error {
		for i, err := range w.try(t.Context(), cell, parents) {
			tried.Add(1)
			if w.ineffective && err == nil {
				continue
			}
			if err == nil {
				return fmt.Errorf("%v is stored", parents[i])
			}
			if !refused(err) {
				return fmt.Errorf("%v: want a refusal, got: %w", parents[i], err)
			}
		}
		return nil
	})
	if want := combinations(); int(tried.Load()) != want {
		t.Errorf("%d combinations were tried, want %d", tried.Load(), want)
	}
	if routes := s.wantNoMeshRoute(t, "matrix"); routes == 0 {
		t.Error("no route on a Gateway is stored that could have been changed")
	}
	t.Logf("%d combinations: %d ways, %d endpoints, %d parents", tried.Load(), len(ways), len(endpoints), len(parents))
}

// TestMatrixGranted: with a grant, each way has its route stored, so that it is the
// grant that stops them in TestMatrix.
func TestMatrixGranted(t *testing.T) { start(t).admitGranted(t) }

// TestMatrixGrantedByPolicies is the same for TestMatrixByPolicies.
func TestMatrixGrantedByPolicies(t *testing.T) { policiesAlone(t).admitGranted(t) }

func (s *site) admitGranted(t *testing.T) {
	t.Helper()
	s.namespace(t, "matrix-granted", "all")
	s.everyCell(t, "matrix-granted", func(cell *target, w way) error {
		if err := w.try(t.Context(), cell, []parent{{"group": "", "kind": "Service", "name": "cart"}})[0]; err != nil {
			return err
		}
		routes, err := cell.admin.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		stored := false
		for _, route := range routes.Items {
			stored = stored || strings.HasPrefix(route.GetName(), cell.name) && len(meshParentsOf(&route)) > 0
		}
		if stored == w.ineffective {
			return fmt.Errorf("stored: %v", stored)
		}
		return nil
	})
}

// TestEndpoints: the matrix leaves out no version that the API server serves.
func TestEndpoints(t *testing.T) {
	s := start(t)
	c, err := discovery.NewDiscoveryClientForConfig(s.plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, served, err := c.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, group := range served {
		for _, resource := range group.APIResources {
			name, version, _ := strings.Cut(group.GroupVersion, "/")
			kind := resource.Kind
			if name != gatewayGroup {
				kind += "." + name
			}
			if name != gatewayGroup && name != linkerdGroup || !strings.HasSuffix(resource.Kind, "Route") || strings.Contains(resource.Name, "/") {
				continue
			}
			found++
			if !slices.Contains(endpoints, endpoint{kind, version}) {
				t.Errorf("%s in version %s is served and not tried", kind, version)
			}
		}
	}
	if found != len(endpoints) {
		t.Errorf("%d endpoints are served, %d are tried", found, len(endpoints))
	}
}

// refused reports whether the API server refused a route for its parent. The schema refuses
// some that no mutation repairs; kubectl's words are not an error of the API's.
func refused(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "(grant-missing)") || apierrors.IsInvalid(err) || strings.HasPrefix(err.Error(), "Error from server (Invalid): "))
}

// try writes a route with each parent, and returns what the API server said.
func (w way) try(ctx context.Context, t *target, parents []parent) []error {
	names := make([]string, len(parents))
	for i := range parents {
		names[i] = t.name
		if w.before == nothing {
			names[i] = fmt.Sprintf("%s-%d", t.name, i)
		}
	}
	if w.together != nil {
		return w.together(ctx, t, names, parents)
	}
	errs := make([]error, len(parents))
	for i, p := range parents {
		errs[i] = w.write(ctx, t, names[i], p)
	}
	return errs
}

// everyCell makes a target for each way and endpoint, and tries them side by side.
func (s *site) everyCell(t *testing.T, namespace string, try func(*target, way) error) {
	t.Helper()
	user := s.tenant(t)
	var cells errgroup.Group
	cells.SetLimit(8)
	for i, w := range ways {
		for j, e := range endpoints {
			cell := &target{
				endpoint: e, namespace: namespace, name: fmt.Sprintf("%s-way-%d-%d", namespace, i, j),
				routes: user.Resource(e.resource()).Namespace(namespace), admin: s.admin.Resource(e.resource()).Namespace(namespace),
				kubectl: func(ctx context.Context, stdin string, args ...string) string {
					_, stderr, _ := s.plane.Kubectl(ctx, stdin, append(args, "--as", tenant)...)
					return stderr
				},
			}
			cells.Go(func() error {
				err := cell.prepare(t.Context(), w.before)
				if err == nil {
					err = try(cell, w)
				}
				if err != nil {
					t.Errorf("%s, %s %s: %v", w.name, e.kind, e.version, err)
				}
				return nil // the other cells are tried too
			})
		}
	}
	_ = cells.Wait() // no cell returns an error
}

// prepare stores what the way begins with.
func (t *target) prepare(ctx context.Context, b before) (err error) {
	if b == nothing {
		return nil
	}
	route := t.route(t.namespace, t.name, gatewayParent())
	if b == deleted {
		route.SetFinalizers([]string{finalizer})
	}
	if t.stored, err = t.routes.Create(ctx, route, metav1.CreateOptions{}); err != nil || b == onGateway {
		return err
	}
	if err := t.routes.Delete(ctx, t.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	t.stored, err = t.routes.Get(ctx, t.name, metav1.GetOptions{})
	return err
}

// wantNoMeshRoute fails where a route of the namespace has a parent that is not a
// Gateway, and returns how many routes there are.
func (s *site) wantNoMeshRoute(t *testing.T, namespace string) (routes int) {
	t.Helper()
	for _, e := range endpoints {
		all, err := s.admin.Resource(e.resource()).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range all.Items {
			if others := meshParentsOf(&route); len(others) > 0 {
				t.Errorf("%s %s %s is stored with %v", e.kind, e.version, route.GetName(), others)
			}
		}
		routes += len(all.Items)
	}
	return routes
}
