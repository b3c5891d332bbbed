package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
)

// bindings is an API server with the binding alone. Its webhook answers probes once it is
// reached.
type bindings struct {
	client.Reader
	client.Writer
	mu       sync.Mutex
	reached  bool
	broken   error
	subjects []rbacv1.Subject
}

func (b *bindings) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	object.(*rbacv1.ClusterRoleBinding).Subjects = slices.Clone(b.subjects)
	return b.broken
}

func (b *bindings) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username = "system:serviceaccount:gammaguard-system:gammaguard-webhook"
	return nil
}

func (b *bindings) Update(_ context.Context, object client.Object, options ...client.UpdateOption) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(options) == 0:
		b.subjects = object.(*rbacv1.ClusterRoleBinding).Subjects
	case b.reached:
		return fmt.Errorf("admission webhook %q denied the request", config.ServingWebhook)
	default:
		return fmt.Errorf("failed calling webhook %q", config.ServingWebhook)
	}
	return nil
}

// set changes the API server, and then waits for so long. It returns how many subjects the
// binding has.
func (b *bindings) set(wait time.Duration, change func()) int {
	b.mu.Lock()
	change()
	b.mu.Unlock()
	time.Sleep(wait)
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subjects)
}

// TestActivation: a subject that somebody removes is back within seconds, and the metric
// says what the last look saw.
func TestActivation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &bindings{}
		a := &activation{binding: config.ServingBinding, ready: func() error { return nil }, reader: api, writer: api, log: logr.Discard()}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.Start(ctx) }()
		for _, step := range []struct {
			what     string
			wait     time.Duration
			change   func()
			subjects int
			metric   float64
		}{
			{"nobody reaches gammaguard", time.Hour, func() {}, 0, 0},
			{"it is reached", lastLook, func() { api.reached = true }, 1, 1},
			{"a day passes", 24 * time.Hour, func() {}, 1, 1},
			{"the subject was removed", 5 * time.Second, func() { api.subjects = nil }, 1, 1},
			{"the binding cannot be read", 5 * time.Second, func() { api.broken = errors.New("forbidden") }, 1, 0},
			{"it can be read again", lastLook, func() { api.broken = nil }, 1, 1},
			{"the subject was removed, and nobody reaches gammaguard", 5 * time.Second, func() { api.reached, api.subjects = false, nil }, 0, 0},
		} {
			if got, metric := api.set(step.wait, step.change), testutil.ToFloat64(a.metric()); got != step.subjects || metric != step.metric {
				t.Errorf("%s: %d subjects and metric %v, want %d and %v", step.what, got, metric, step.subjects, step.metric)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
