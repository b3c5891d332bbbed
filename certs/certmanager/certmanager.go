// Package certmanager asks cert-manager why there is no serving certificate:
// cert-manager writes it into a Secret, and the Secret is mounted as the
// certificate directory.
package certmanager

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// readTimeout bounds one look at the Certificate.
	readTimeout = 2 * time.Second
	// remember is how long an answer is given again, however often it is asked for.
	remember = 5 * time.Second
)

// Source is a Certificate of cert-manager, as the source of the certificate
// folder. It is safe for concurrent use once it is set up.
type Source struct {
	certificate types.NamespacedName
	now         func() time.Time

	mu     sync.Mutex
	reader client.Reader
	answer string
	at     time.Time
}

// New returns the source that is the Certificate.
func New(certificate types.NamespacedName) *Source {
	return &Source{certificate: certificate, now: time.Now}
}

// String returns what the source is.
func (s *Source) String() string { return "Certificate " + s.certificate.String() }

// SetUp implements certs.Source. Nothing has to run: cert-manager does the work.
func (s *Source) SetUp(mgr manager.Manager) error {
	scheme := runtime.NewScheme()
	if err := certmanagerv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("types of cert-manager: %w", err)
	}
	reader, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("client for Certificates: %w", err)
	}
	s.reader = reader
	return nil
}

// Waiting implements certs.Source by the Certificate's own conditions.
func (s *Source) Waiting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer == "" || s.now().Sub(s.at) >= remember {
		s.answer = oneLine(s.String() + " " + s.look())
		s.at = s.now()
	}
	return s.answer
}

// look reads the Certificate and says what is the matter with it.
func (s *Source) look() string {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var certificate certmanagerv1.Certificate
	err := s.reader.Get(ctx, s.certificate, &certificate)
	switch {
	case meta.IsNoMatchError(err):
		return "cannot exist: cert-manager.io/v1 is not served, install cert-manager"
	case apierrors.IsNotFound(err):
		return "does not exist"
	case err != nil:
		return "cannot be read: " + err.Error()
	}
	return describe(&certificate)
}

// describe says what the conditions mean for one who waits for the certificate.
func describe(certificate *certmanagerv1.Certificate) string {
	ready := condition(certificate, certmanagerv1.CertificateConditionReady)
	issuing := condition(certificate, certmanagerv1.CertificateConditionIssuing)
	switch {
	case ready == nil && issuing == nil:
		return "has no conditions yet: check that cert-manager is running"
	case ready != nil && ready.Status == cmmeta.ConditionTrue:
		return fmt.Sprintf("is ready, but its Secret %s is not mounted yet", certificate.Spec.SecretName)
	}
	var said []string
	if ready != nil {
		said = append(said, fmt.Sprintf("%s (%s)", ready.Message, ready.Reason))
	}
	if issuing != nil && (ready == nil || ready.Message != issuing.Message) {
		said = append(said, fmt.Sprintf("%s (%s)", issuing.Message, issuing.Reason))
	}
	return "is not ready: " + strings.Join(said, "; ")
}

func condition(certificate *certmanagerv1.Certificate, kind certmanagerv1.CertificateConditionType) *certmanagerv1.CertificateCondition {
	for i := range certificate.Status.Conditions {
		if certificate.Status.Conditions[i].Type == kind {
			return &certificate.Status.Conditions[i]
		}
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
