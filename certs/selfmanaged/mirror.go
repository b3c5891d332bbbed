package selfmanaged

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/certs"
)

// propagation is how long after the registrations trust a new CA a replica goes on
// serving a certificate of the old one: API servers learn of a change by a watch.
const propagation = 5 * time.Second

// mirror copies the serving certificate from the Secret into the folder, on every
// replica, once the registrations trust it.
type mirror struct {
	source *Source
	cache  cache.Cache
	log    logr.Logger

	// trusted is the CA in the Secret that all registrations trust, and since when
	// this was seen.
	trusted []byte
	since   time.Time
}

// NeedLeaderElection says that every replica serves.
func (*mirror) NeedLeaderElection() bool { return false }

// Start runs the cache, and looks again whenever one of its objects changes, until
// the context ends.
func (m *mirror) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	tell := func(any) {
		select {
		case changed <- struct{}{}:
		default: // the look that is due will see this too
		}
	}
	m.source.waiting.Store("waiting for the API server to send Secret " + m.source.options.Secret.String())
	for _, object := range []client.Object{
		&corev1.Secret{}, &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{},
	} {
		informer, err := m.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch certificates: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell,
		}); err != nil {
			return fmt.Errorf("watch certificates: %w", err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- m.cache.Start(ctx) }()
	if m.cache.WaitForCacheSync(ctx) {
		m.follow(ctx, changed)
	}
	return <-ended
}

// follow looks at each change until the context ends.
func (m *mirror) follow(ctx context.Context, changed <-chan struct{}) {
	for {
		wait, err := m.look(ctx, time.Now())
		reason := ""
		if err != nil {
			reason = err.Error()
		}
		// Without a certificate readiness tells the reason.
		if before := m.source.waiting.Swap(reason); before != reason && reason != "" && certs.Check(m.source.options.Dir, time.Now()) == nil {
			if errors.As(err, new(noSecret)) {
				m.log.Error(err, "Keeping the certificate that is served; a replica that starts has none")
			} else {
				m.log.Info("Keeping the certificate that is served", "reason", reason)
			}
		}
		var again <-chan time.Time
		if wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
	}
}

// look copies the certificate if it is time. It returns after which time to look
// again, if nothing changes before, and why the certificate cannot be served.
func (m *mirror) look(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	bundle, err := m.read(ctx)
	if err == nil {
		err = m.trustedByAll(ctx, bundle, now)
	}
	if err != nil {
		m.trusted = nil
		return 0, err
	}
	if !bytes.Equal(m.trusted, bundle.CA) {
		m.trusted, m.since = bundle.CA, now
	}
	dir := m.source.options.Dir
	if served(dir, bundle) {
		return 0, nil
	}
	if left := m.since.Add(propagation).Sub(now); left > 0 && !sameCA(dir, bundle) && certs.Check(dir, now) == nil {
		return left, nil
	}
	if err := bundle.WriteDir(dir); err != nil {
		return firstWait, err
	}
	m.log.Info("Serving the certificate of the Secret", "secret", m.source.options.Secret.String())
	return 0, nil
}

// noSecret says that a Secret is missing, which gammaguard has no right to create.
type noSecret client.ObjectKey

// Error implements error.
func (n noSecret) Error() string {
	return fmt.Sprintf("Secret %s/%s not found; apply the overlay, or run helm upgrade, again", n.Namespace, n.Name)
}

// read returns what the Secret holds.
func (m *mirror) read(ctx context.Context) (*certs.Bundle, error) {
	name := m.source.options.Secret
	var secret corev1.Secret
	err := m.cache.Get(ctx, name, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, noSecret(name)
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	bundle := &certs.Bundle{CA: secret.Data[certs.CAFile], Cert: secret.Data[certs.CertFile], Key: secret.Data[certs.KeyFile]}
	switch {
	case len(bundle.Cert) == 0 || len(bundle.Key) == 0:
		return nil, fmt.Errorf("Secret %s has no certificate yet: the leader creates it", name) //nolint:staticcheck // the name of a kind
	case len(bundle.CA) == 0: // a Pod of another source may be the leader
		return nil, fmt.Errorf("Secret %s has a certificate without %s: the leader replaces it; if it was made by other means, delete the Secret and the Deployment, and apply the overlay again", name, certs.CAFile) //nolint:staticcheck // the name of a kind
	}
	return bundle, nil
}

// trustedByAll returns nil if every webhook of the two registrations trusts the
// certificate. A webhook configuration that does not exist is ignored.
func (m *mirror) trustedByAll(ctx context.Context, bundle *certs.Bundle, now time.Time) error {
	options := m.source.options
	pair, err := tls.X509KeyPair(bundle.Cert, bundle.Key)
	if err != nil {
		return fmt.Errorf("certificate in Secret %s: %w", options.Secret, err)
	}
	for _, object := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}} {
		err := m.cache.Get(ctx, client.ObjectKey{Name: options.Webhooks}, object)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		for _, webhook := range webhooksOf(object) {
			if err := trusts(webhook.CABundle, pair.Leaf, options.Host, now); err != nil {
				return fmt.Errorf("webhook %s does not trust the certificate of Secret %s for %s: %w",
					webhook.name, options.Secret, options.Host, err)
			}
		}
	}
	return nil
}

// webhook is one webhook of a registration.
type webhook struct {
	name string
	admissionv1.WebhookClientConfig
}

func webhooksOf(registration client.Object) []webhook {
	var all []webhook
	switch registration := registration.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range registration.Webhooks {
			all = append(all, webhook{registration.Webhooks[i].Name, registration.Webhooks[i].ClientConfig})
		}
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range registration.Webhooks {
			all = append(all, webhook{registration.Webhooks[i].Name, registration.Webhooks[i].ClientConfig})
		}
	}
	return all
}

// served reports whether the folder holds the certificate already.
func served(dir string, bundle *certs.Bundle) bool {
	return holds(dir, certs.CertFile, bundle.Cert) && holds(dir, certs.KeyFile, bundle.Key) && sameCA(dir, bundle)
}

func sameCA(dir string, bundle *certs.Bundle) bool { return holds(dir, certs.CAFile, bundle.CA) }

func holds(dir, name string, data []byte) bool {
	found, err := os.ReadFile(filepath.Join(dir, name))
	return !errors.Is(err, os.ErrNotExist) && bytes.Equal(found, data)
}
