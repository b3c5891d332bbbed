package selfmanaged

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// rotation runs the rotator, on the leader: two would inject two CAs in turn. The
// rotator gets a manager of its own, because some of its failures (no Secret, no
// files for a quarter of an hour) end the manager that it runs in, and a server
// that has a valid certificate must go on.
type rotation struct {
	options Options
	config  *rest.Config
	cache   client.Reader // of this Source, started by mirror
	log     logr.Logger
}

const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// How long certificates are valid, and how long before their end they are renewed.
const (
	day           = 24 * time.Hour
	caValidity    = 10 * 365 * day
	validity      = 365 * day
	renewalBefore = 90 * day
)

// NeedLeaderElection says that one replica rotates.
func (*rotation) NeedLeaderElection() bool { return true }

// Start rotates until the context ends.
func (r *rotation) Start(ctx context.Context) error {
	for wait := firstWait; ctx.Err() == nil; {
		if r.exists(ctx) {
			if err := r.run(ctx); ctx.Err() == nil {
				r.log.Error(err, "Certificate rotation failed", "retryAfter", wait.String())
			}
			wait = min(2*wait, lastWait)
		} else {
			wait = firstWait
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// exists reports whether there is a Secret to keep filled.
func (r *rotation) exists(ctx context.Context) bool {
	return r.cache.Get(ctx, r.options.Secret, &corev1.Secret{}) == nil
}

// runs numbers the rotators of this process, since controllers' names must differ.
var runs atomic.Int64

// run rotates until the context ends or the rotator fails.
func (r *rotation) run(ctx context.Context) error {
	config := confine(r.config, map[string]string{
		"secrets":                         r.options.Secret.Name,
		"validatingwebhookconfigurations": r.options.Webhooks,
		"mutatingwebhookconfigurations":   r.options.Webhooks,
	})
	grace := time.Second
	mgr, err := manager.New(config, manager.Options{
		Logger:                  r.log,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: &grace,
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			inner, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(inner, interceptor.Funcs{Update: update}), nil
		},
	})
	if err != nil {
		return err
	}
	err = rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      r.options.Secret,
		CertDir:        r.options.Dir,
		CAName:         "gammaguard-ca",
		CAOrganization: "gammaguard",
		CaCertDuration: caValidity, ServerCertDuration: validity, LookaheadInterval: renewalBefore,
		DNSName:        r.options.Host,
		IsReady:        make(chan struct{}),
		FieldOwner:     "gammaguard",
		ControllerName: fmt.Sprintf("certificates-%d", runs.Add(1)),
		Webhooks: []rotator.WebhookInfo{
			{Name: r.options.Webhooks, Type: rotator.Validating},
			{Name: r.options.Webhooks, Type: rotator.Mutating},
		},
	})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// update is how the rotator's updates are made: one that would replace the CA of a
// registration puts the CA beside those that are trusted, and one that changes
// nothing is left out. A Secret that another write has changed stays as that write
// left it: two parts of the rotator fill a new one at once, and every write has the
// rotator look at the Secret again.
func update(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
	registration, ok := object.(*unstructured.Unstructured)
	if !ok {
		if err := c.Update(ctx, object, options...); !apierrors.IsConflict(err) {
			return err
		}
		return nil
	}
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(registration.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(registration), now); err != nil {
		return err
	}
	changed, err := inject(now, registration, time.Now())
	if err != nil || !changed {
		return err
	}
	return c.Update(ctx, now, options...)
}

// inject adds the CA that the webhooks of want have to those that the webhooks
// of the registration have, and reports whether that changes anything.
func inject(registration, want *unstructured.Unstructured, now time.Time) (changed bool, err error) {
	next, err := caBundles(want)
	if err != nil || len(next) == 0 {
		return false, err
	}
	current, err := caBundles(registration)
	if err != nil {
		return false, err
	}
	webhooks, _, err := unstructured.NestedSlice(registration.Object, "webhooks")
	if err != nil {
		return false, err
	}
	for i, webhook := range webhooks {
		bundle, err := trustBoth(next[0], current[i], now)
		if err != nil {
			return false, err
		}
		changed = changed || string(bundle) != string(current[i])
		fields, _ := webhook.(map[string]any) // caBundles has seen to it
		if err := unstructured.SetNestedField(fields, base64.StdEncoding.EncodeToString(bundle), "clientConfig", "caBundle"); err != nil {
			return false, err
		}
	}
	return changed, unstructured.SetNestedSlice(registration.Object, webhooks, "webhooks")
}

// caBundles returns the CA bundle of each webhook of the registration, in PEM.
func caBundles(registration *unstructured.Unstructured) ([][]byte, error) {
	webhooks, _, err := unstructured.NestedSlice(registration.Object, "webhooks")
	if err != nil {
		return nil, err
	}
	var bundles [][]byte
	for i, webhook := range webhooks {
		fields, ok := webhook.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("webhooks[%d]: not an object", i)
		}
		encoded, _, err := unstructured.NestedString(fields, "clientConfig", "caBundle")
		if err != nil {
			return nil, fmt.Errorf("webhooks[%d]: %w", i, err)
		}
		bundle, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("webhooks[%d].clientConfig.caBundle: %w", i, err)
		}
		bundles = append(bundles, bundle)
	}
	return bundles, nil
}
