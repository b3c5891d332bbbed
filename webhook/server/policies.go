package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/internal/grantpolicy"
)

// compareEvery is how long it may take until a policy that differs is reported.
const compareEvery = time.Minute

// The reason and the action of the Event on a policy that differs.
const (
	policyDiffersReason = "PolicyDiffers"
	compareAction       = "Compare"
)

// policies compares the policies on grants that the API server has with those of the
// configuration, and reports a difference: as a metric, as an Event, and in the log. It writes
// no policy.
type policies struct {
	want     *grantpolicy.Set
	reader   client.Reader // not a cache
	recorder events.EventRecorder
	log      logr.Logger

	// seen is set once any of them was there: then all missing differs too.
	seen     bool
	reported string
	// synced holds a bool; nothing where no policy is installed, or it cannot be known.
	synced atomic.Pointer[bool]
}

var policyInSync = prometheus.NewDesc("gammaguard_policy_in_sync",
	"1 if the policies on grants that the API server enforces are those of the configuration of this replica, 0 if they differ. Absent if none were there since this replica started, or if it cannot read them.",
	nil, nil)

// Describe implements prometheus.Collector.
func (*policies) Describe(descs chan<- *prometheus.Desc) { descs <- policyInSync }

// Collect implements prometheus.Collector.
func (p *policies) Collect(metrics chan<- prometheus.Metric) {
	synced := p.synced.Load()
	if synced == nil {
		return
	}
	value := 0.0
	if *synced {
		value = 1
	}
	metrics <- prometheus.MustNewConstMetric(policyInSync, prometheus.GaugeValue, value)
}

// NeedLeaderElection says that every replica compares: each has its configuration.
func (*policies) NeedLeaderElection() bool { return false }

// Start compares at once, and then each minute until the context ends.
func (p *policies) Start(ctx context.Context) error {
	for {
		p.compare(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(compareEvery):
		}
	}
}

// compare compares once, and reports what changed since the last time.
func (p *policies) compare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	sync, why, err := p.want.Compare(ctx, policySource{p.reader})
	switch {
	case err != nil:
		p.synced.Store(nil)
		p.report("cannot be read: "+err.Error(), "The policies on grants cannot be read", "reason", err.Error())
		return
	case sync == grantpolicy.NotInstalled && !p.seen:
		p.synced.Store(nil)
		return
	case sync == grantpolicy.NotInstalled:
		why = "all of them were removed"
	}
	p.seen = true
	synced := sync == grantpolicy.InSync
	p.synced.Store(&synced)
	if synced {
		p.report("", "The policies on grants are those of the configuration", "digest", p.want.Digest())
		return
	}
	if p.report(why, "The policies on grants are not those of the configuration: apply what 'gammaguard policy' writes for it", "reason", why) {
		p.recorder.Eventf(p.regarding(), nil, corev1.EventTypeWarning, policyDiffersReason, compareAction, "%s",
			shortened("not what the configuration of gammaguard asks for; apply what 'gammaguard policy' writes for it: "+why))
	}
}

// report logs what is new, and reports whether it is.
func (p *policies) report(state, message string, details ...any) bool {
	if p.reported == state {
		return false
	}
	p.reported = state
	p.log.Info(message, details...)
	return true
}

// maxNote is how long an Event's note may be, in bytes (events.k8s.io/v1).
const maxNote = 1024

func shortened(text string) string {
	if len(text) > maxNote {
		return text[:maxNote-3] + "..."
	}
	return text
}

func (p *policies) regarding() *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: p.want.Policy.Kind, Name: p.want.Policy.Name}
}

// policySource reads policies by a client.
type policySource struct{ client.Reader }

// Policy implements grantpolicy.Source.
func (s policySource) Policy(ctx context.Context, name string) (*admissionv1.ValidatingAdmissionPolicy, error) {
	return got(ctx, s, name, &admissionv1.ValidatingAdmissionPolicy{})
}

// Binding implements grantpolicy.Source.
func (s policySource) Binding(ctx context.Context, name string) (*admissionv1.ValidatingAdmissionPolicyBinding, error) {
	return got(ctx, s, name, &admissionv1.ValidatingAdmissionPolicyBinding{})
}

// got reads the object, and returns nil if there is none.
func got[T client.Object](ctx context.Context, from client.Reader, name string, object T) (none T, err error) {
	if err := from.Get(ctx, client.ObjectKey{Name: name}, object); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	return object, nil
}
