package standing

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// The bounds of writing Reports: how many a second, how many at once, how long one may
// take, and how long the writer waits after a failure.
const (
	writeRate    = 5
	writeBurst   = 20
	writeTimeout = 5 * time.Second
	writeRetry   = 10 * time.Second
)

// reports writes a Report for each namespace with routes. It is for one goroutine.
type reports struct {
	client  client.Client
	version func(mesh.RouteKind) string
	log     logr.Logger
	limit   *rate.Limiter

	// stored are the checksums of the Reports in the cluster by namespace; nil before they
	// were listed.
	stored map[string]string
	// changed are the namespaces whose Report may have to be written.
	changed map[string]struct{}
	// resume is when the next request may be made, after one that failed with reason.
	resume time.Time
	reason string
}

func newReports(config *rest.Config, version func(mesh.RouteKind) string, log logr.Logger) (*reports, error) {
	scheme := runtime.NewScheme()
	if err := openreports.Install(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of reports: %w", err)
	}
	return &reports{client: c, version: version, log: log, limit: rate.NewLimiter(writeRate, writeBurst)}, nil
}

// begin forgets what a former term knew.
func (r *reports) begin() {
	if r != nil {
		r.stored, r.changed, r.resume = nil, map[string]struct{}{}, time.Time{}
	}
}

// note takes note of a change of the namespace's routes.
func (r *reports) note(namespace string, before, now *audited) {
	if r != nil && changedBy(before, now) {
		r.changed[namespace] = struct{}{}
	}
}

// wait returns a channel that says when the next Report can be written, nil if there is
// none.
func (r *reports) wait() <-chan time.Time {
	if r == nil || len(r.changed) == 0 && r.stored != nil {
		return nil
	}
	return time.After(time.Until(r.resume))
}

// write writes one Report that has changed, if it may, and reports whether it did anything.
func (r *reports) write(ctx context.Context, namespaces map[string]*routes) bool {
	if r == nil || len(r.changed) == 0 && r.stored != nil || time.Now().Before(r.resume) {
		return false
	}
	if reservation := r.limit.Reserve(); reservation.Delay() > 0 {
		r.resume = time.Now().Add(reservation.Delay())
		reservation.Cancel()
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if r.stored == nil {
		r.failed(r.list(ctx, namespaces))
		return true
	}
	for namespace := range r.changed {
		err := r.writeOne(ctx, namespace, namespaces[namespace])
		if err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			delete(r.changed, namespace)
			err = nil
		}
		r.failed(err)
		return true
	}
	return false
}

// failed logs a failure, once while it goes on, and has the writer wait.
func (r *reports) failed(err error) {
	reason := ""
	switch {
	case err == nil:
	case meta.IsNoMatchError(err):
		reason = "the CustomResourceDefinition reports.openreports.io is not installed"
	default:
		reason = err.Error()
	}
	if reason != "" {
		r.resume = time.Now().Add(writeRetry)
	}
	if reason != r.reason && reason != "" {
		r.log.Info("Reports cannot be written; gammaguard tries again until they can", "reason", reason)
	}
	r.reason = reason
}

// list finds the Reports that are there. Those of namespaces without routes are due.
func (r *reports) list(ctx context.Context, namespaces map[string]*routes) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(openreports.SchemeGroupVersion.WithKind("ReportList"))
	if err := r.client.List(ctx, list, client.MatchingLabels{managedByLabel: reportName}); err != nil {
		return err
	}
	r.stored = map[string]string{}
	for i := range list.Items {
		namespace := list.Items[i].Namespace
		r.stored[namespace] = list.Items[i].Annotations[checksumAnnotation]
		if namespaces[namespace] == nil {
			r.changed[namespace] = struct{}{}
		}
	}
	return nil
}

// writeOne writes the namespace's Report, or deletes it where there are no routes.
func (r *reports) writeOne(ctx context.Context, namespace string, routes *routes) error {
	if routes == nil {
		if _, exists := r.stored[namespace]; !exists {
			return nil
		}
		report := &openreports.Report{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: reportName}}
		err := client.IgnoreNotFound(r.client.Delete(ctx, report))
		if err == nil {
			delete(r.stored, namespace)
		}
		return err
	}
	now := time.Now()
	report := routes.report(r.version, metav1.Timestamp{Seconds: now.Unix()})
	sum := report.Annotations[checksumAnnotation]
	if r.stored[namespace] == sum {
		return nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(report)
	if err != nil {
		return err
	}
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})
	if err := r.client.Apply(ctx, configuration, client.FieldOwner(reportName), client.ForceOwnership); err != nil {
		return err
	}
	r.stored[namespace] = sum
	return nil
}
