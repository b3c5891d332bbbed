package audit

import (
	"context"
	"fmt"
	"sync"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gammaguard/gammaguard/internal/kube"
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

// allReports is the key in the queue for finding the Reports that are there.
const allReports = ""

// reports writes a Report for each namespace with routes: a controller keyed by namespace.
type reports struct {
	client  client.Client
	routes  routeIndex
	version func(mesh.RouteKind) string
	log     logr.Logger
	limit   *rate.Limiter

	mu    sync.Mutex
	queue namespaceQueue // nil before the process leads
	// wanted are the namespaces whose Report may have to be written, with their routes.
	wanted map[string][]audited
	// stored are the checksums of the Reports in the cluster by namespace; nil before they
	// were listed. Only the worker reads what is in it.
	stored map[string]string
	reason string // why the last request failed
}

func addReports(mgr manager.Manager, cache *kube.Cache, log logr.Logger) (*reports, error) {
	scheme := runtime.NewScheme()
	if err := openreports.Install(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of reports: %w", err)
	}
	r := &reports{
		client: c, routes: cache, version: cache.RouteVersion, log: log,
		limit: rate.NewLimiter(writeRate, writeBurst), wanted: map[string][]audited{},
	}
	writer, err := newController(mgr, "reports", r)
	if err == nil {
		err = writer.Watch(whenSynced(cache, r.start))
	}
	if err != nil {
		return nil, fmt.Errorf("controller of reports: %w", err)
	}
	return r, nil
}

func (r *reports) start(_ context.Context, queue namespaceQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = queue
	queue.Add(allReports)
}

// replace has the Report of the namespace be about the routes.
func (r *reports) replace(namespace string, routes []audited) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted[namespace] = routes
	if r.stored != nil {
		r.queue.Add(namespace)
	}
}

// Reconcile writes the Report of a namespace. What fails is tried again, and logged once
// while it goes on.
func (r *reports) Reconcile(ctx context.Context, namespace string) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var err error
	if namespace == allReports {
		err = r.list(ctx)
	} else {
		err = r.write(ctx, namespace)
	}
	reason := ""
	switch {
	case err == nil:
	case meta.IsNoMatchError(err):
		reason = "the CustomResourceDefinition reports.openreports.io is not installed"
	default:
		reason = err.Error()
	}
	if reason != r.reason && reason != "" {
		r.log.Info("Reports cannot be written; gammaguard tries again until they can", "reason", reason)
	}
	r.reason = reason
	if err != nil {
		return reconcile.Result{RequeueAfter: writeRetry}, nil
	}
	return reconcile.Result{}, nil
}

// list finds the Reports that are there, and has those written that are wanted. Those of
// namespaces without routes are to be deleted.
func (r *reports) list(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(openreports.SchemeGroupVersion.WithKind("ReportList"))
	if err := r.client.List(ctx, list, client.MatchingLabels{managedByLabel: reportName}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = map[string]string{}
	for i := range list.Items {
		namespace := list.Items[i].Namespace
		r.stored[namespace] = list.Items[i].Annotations[checksumAnnotation]
		if len(r.routes.RoutesInNamespace(namespace)) == 0 {
			r.wanted[namespace] = nil
		}
	}
	for namespace := range r.wanted {
		r.queue.Add(namespace)
	}
	return nil
}

// write writes the Report of the namespace, or deletes it where there are no routes.
func (r *reports) write(ctx context.Context, namespace string) error {
	r.mu.Lock()
	routes, wanted := r.wanted[namespace]
	delete(r.wanted, namespace)
	stored, exists := r.stored[namespace]
	r.mu.Unlock()
	if !wanted {
		return nil
	}
	report := reportOn(namespace, routes, r.version, metav1.Timestamp{Seconds: time.Now().Unix()})
	sum := report.Annotations[checksumAnnotation]
	var err error
	switch {
	case len(routes) == 0 && exists:
		err = r.send(ctx, func() error { return client.IgnoreNotFound(r.client.Delete(ctx, report)) })
	case len(routes) > 0 && stored != sum:
		err = r.send(ctx, func() error { return r.apply(ctx, report) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch _, newer := r.wanted[namespace]; {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil && !newer:
		r.wanted[namespace] = routes
	case len(routes) == 0 && err == nil:
		delete(r.stored, namespace)
	case err == nil:
		r.stored[namespace] = sum
	}
	return err
}

// send makes a request, once it may be made.
func (r *reports) send(ctx context.Context, request func() error) error {
	if err := r.limit.Wait(ctx); err != nil {
		return err
	}
	return request()
}

func (r *reports) apply(ctx context.Context, report *openreports.Report) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(report)
	if err != nil {
		return err
	}
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})
	return r.client.Apply(ctx, configuration, client.FieldOwner(reportName), client.ForceOwnership)
}
