// Package selfmanaged keeps a CA and a serving certificate in a Secret, where no
// cert-manager does, and has the webhook registrations trust the CA.
//
// The leader renews them, by cert-controller's rotator (rotation.go). Every
// replica copies the certificate from the Secret into its certificate directory
// (mirror.go). A new CA comes in without a request being lost: the registrations
// trust the old one beside it for a day (trust.go), and no replica serves a
// certificate of the new one before they trust it.
//
// It takes list, watch and update of that one Secret, and get, list, watch and
// update of the two registrations, all by name: names.go makes requests so that
// RBAC can tell.
package selfmanaged

import (
	"fmt"
	"sync/atomic"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options name what belongs together. All must be set.
type Options struct {
	// Dir is the certificate directory.
	Dir string
	// Secret holds ca.crt, ca.key, tls.crt and tls.key. It must exist, but may be
	// empty.
	Secret types.NamespacedName
	// Host is the DNS name that the API server calls the webhooks by.
	Host string
	// Webhooks is the name of the ValidatingWebhookConfiguration and of the
	// MutatingWebhookConfiguration.
	Webhooks string
}

// Source is a Secret that gammaguard itself keeps filled, as the source of the
// certificate directory.
type Source struct {
	options Options
	waiting atomic.Value // string
}

// New returns the source for what the options name.
func New(options Options) *Source { return &Source{options: options} }

// String returns what the source is.
func (s *Source) String() string {
	o := &s.options
	return fmt.Sprintf("Secret %s for %s, copied to %s, trusted by webhook configurations %s", o.Secret, o.Host, o.Dir, o.Webhooks)
}

// Waiting implements certs.Source.
func (s *Source) Waiting() string {
	reason, _ := s.waiting.Load().(string)
	return reason
}

// SetUp implements certs.Source.
func (s *Source) SetUp(mgr manager.Manager) error {
	objects, err := s.newCache(mgr)
	if err != nil {
		return fmt.Errorf("cache for certificates: %w", err)
	}
	log := mgr.GetLogger().WithName("certificates")
	if err := mgr.Add(&mirror{source: s, cache: objects, log: log}); err != nil {
		return err
	}
	return mgr.Add(&rotation{options: s.options, config: mgr.GetConfig(), cache: objects, log: log})
}

// newCache returns a cache of the Secret and the two registrations, and of nothing
// else.
func (s *Source) newCache(mgr manager.Manager) (cache.Cache, error) {
	registration := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.options.Webhooks)}
	return cache.New(mgr.GetConfig(), cache.Options{
		Scheme: clientgoscheme.Scheme,
		Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{s.options.Secret.Namespace: {
				FieldSelector: fields.OneTermEqualSelector("metadata.name", s.options.Secret.Name),
			}}},
			&admissionv1.ValidatingWebhookConfiguration{}: registration,
			&admissionv1.MutatingWebhookConfiguration{}:   registration,
		},
	})
}
