package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
)

// How long activation waits between two looks: longer and longer until gammaguard has
// served, and then in case somebody replaced the binding, which admits all routes meanwhile.
const (
	firstLook, lastLook = 200 * time.Millisecond, 10 * time.Second
	lookAgain           = 5 * time.Second
	lookTimeout         = 10 * time.Second
)

// activation has the webhooks refuse mesh routes, once an API server has reached them
// through the webhook configuration, its Service and its CA: it adds the process's own
// ServiceAccount to the binding that the match condition of the webhook asks about. Before,
// an installation that is not finished would refuse every mesh route.
type activation struct {
	binding string
	ready   func() error
	reader  client.Reader // not a cache
	writer  client.Writer
	log     logr.Logger

	served atomic.Bool // by the last look
	self   *rbacv1.Subject
	reason string // that was logged last
}

// metric returns the gauge of what the last look saw.
func (a *activation) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gammaguard_has_served",
		Help: "1 if the ClusterRoleBinding gammaguard-serving has the ServiceAccount of this replica: the API server asks gammaguard about mesh routes. 0 if not, and it admits them without asking, or if this replica is not ready or cannot read the binding.",
	}, func() float64 {
		if a.served.Load() {
			return 1
		}
		return 0
	})
}

// NeedLeaderElection says that every replica looks: during an upgrade, the leader is an
// old one.
func (*activation) NeedLeaderElection() bool { return false }

// Start looks until the context ends.
func (a *activation) Start(ctx context.Context) error {
	wait := firstLook
	for {
		served, err := a.look(ctx)
		a.served.Store(served)
		switch {
		case served:
			wait = lookAgain
		case wait == lookAgain: // it had served
			wait = firstLook
		default:
			wait = min(2*wait, lastLook)
			a.report(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// look reports whether the binding has the ServiceAccount. If it has not, and a probe
// reaches the webhooks, look adds it.
func (a *activation) look(ctx context.Context) (served bool, err error) {
	if a.ready() != nil {
		return false, nil // readiness reports the reason
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	binding := &rbacv1.ClusterRoleBinding{}
	if err := a.reader.Get(ctx, client.ObjectKey{Name: a.binding}, binding); err != nil {
		return false, err
	}
	if a.self == nil {
		if a.self, err = a.whoami(ctx); err != nil {
			return false, err
		}
	}
	if slices.Contains(binding.Subjects, *a.self) {
		a.reason = ""
		return true, nil
	}
	binding.Subjects = []rbacv1.Subject{*a.self}
	probe := binding.DeepCopy()
	probe.Annotations = map[string]string{config.ProbeAnnotation: "serving"}
	for key, value := range binding.Annotations {
		probe.Annotations[key] = value
	}
	if err := config.Probed(a.writer.Update(ctx, probe, client.DryRunAll)); err != nil {
		return false, err
	}
	if err := a.writer.Update(ctx, binding); err != nil {
		return false, err
	}
	a.log.Info("The API server reaches the webhooks, and asks them from now on", "clusterRoleBinding", a.binding)
	return true, nil
}

// whoami returns the ServiceAccount of this process.
func (a *activation) whoami(ctx context.Context) (*rbacv1.Subject, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.writer.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("ask who this is: %w", err)
	}
	user := review.Status.UserInfo.Username
	account, is := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, name, complete := strings.Cut(account, ":")
	if !is || !complete {
		return nil, fmt.Errorf("user %q is not a ServiceAccount", user)
	}
	return &rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}, nil
}

// report logs why mesh routes are not refused, when the reason changes.
func (a *activation) report(err error) {
	if err == nil || apierrors.IsConflict(err) || err.Error() == a.reason {
		return
	}
	a.reason = err.Error()
	a.log.Info("The webhooks admit all routes until the API server has reached them", "reason", a.reason)
}
