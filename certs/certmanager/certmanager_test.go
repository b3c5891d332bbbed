package certmanager

import (
	"context"
	"errors"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var key = types.NamespacedName{Namespace: "gammaguard-system", Name: "gammaguard-serving-cert"}

// answers is a reader of one Certificate, or of an error.
type answers struct {
	client.Reader
	conditions []certmanagerv1.CertificateCondition
	err        error
	reads      int
}

func (a *answers) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	a.reads++
	if certificate, ok := object.(*certmanagerv1.Certificate); ok {
		certificate.Spec.SecretName = "gammaguard-webhook-cert"
		certificate.Status.Conditions = a.conditions
	}
	return a.err
}

func TestWaiting(t *testing.T) {
	condition := func(kind certmanagerv1.CertificateConditionType, status cmmeta.ConditionStatus, reason, message string) certmanagerv1.CertificateCondition {
		return certmanagerv1.CertificateCondition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	ready, issuing := certmanagerv1.CertificateConditionReady, certmanagerv1.CertificateConditionIssuing
	group := schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	for _, test := range []struct {
		name string
		from answers
		want string
	}{
		{
			name: "not issued yet",
			from: answers{conditions: []certmanagerv1.CertificateCondition{
				condition(issuing, cmmeta.ConditionTrue, "DoesNotExist", "Issuing certificate as Secret does not exist"),
				condition(ready, cmmeta.ConditionFalse, "DoesNotExist", "Issuing certificate as Secret does not exist"),
			}},
			want: "is not ready: Issuing certificate as Secret does not exist (DoesNotExist)",
		},
		{
			name: "failed, in several lines",
			from: answers{conditions: []certmanagerv1.CertificateCondition{
				condition(ready, cmmeta.ConditionFalse, "Expired", "Certificate expired on Wed"),
				condition(issuing, cmmeta.ConditionFalse, "Failed", "The certificate request has failed:\n  no issuer"),
			}},
			want: "is not ready: Certificate expired on Wed (Expired); The certificate request has failed: no issuer (Failed)",
		},
		{
			name: "only issuing",
			from: answers{conditions: []certmanagerv1.CertificateCondition{
				condition(issuing, cmmeta.ConditionTrue, "Renewing", "Renewing certificate"),
			}},
			want: "is not ready: Renewing certificate (Renewing)",
		},
		{
			name: "ready",
			from: answers{conditions: []certmanagerv1.CertificateCondition{
				condition(ready, cmmeta.ConditionTrue, "Ready", "Certificate is up to date and has not expired"),
			}},
			want: "is ready, but its Secret gammaguard-webhook-cert is not mounted yet",
		},
		{name: "nobody looks", want: "has no conditions yet: check that cert-manager is running"},
		{
			name: "no Certificate",
			from: answers{err: apierrors.NewNotFound(schema.GroupResource{Group: group.Group, Resource: "certificates"}, key.Name)},
			want: "does not exist",
		},
		{
			name: "no cert-manager",
			from: answers{err: &meta.NoKindMatchError{GroupKind: group.GroupKind()}},
			want: "cannot exist: cert-manager.io/v1 is not served, install cert-manager",
		},
		{name: "no answer", from: answers{err: errors.New("no\nanswer")}, want: "cannot be read: no answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := New(key)
			source.reader = &test.from
			want := "Certificate gammaguard-system/gammaguard-serving-cert " + test.want
			if diff := cmp.Diff(want, source.Waiting()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWaitingReadsSeldom: probes ask every other second, and the API server is
// asked less often.
func TestWaitingReadsSeldom(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	reader := &answers{}
	source := New(key)
	source.reader, source.now = reader, func() time.Time { return now }
	var got []int
	for range 4 {
		source.Waiting()
		got = append(got, reader.reads)
		now = now.Add(remember / 2)
	}
	if diff := cmp.Diff([]int{1, 1, 2, 2}, got); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}
