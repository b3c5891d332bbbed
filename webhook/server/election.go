package server

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// LeaseName is the name of the Lease by which replicas elect a leader.
const LeaseName = "gammaguard-webhook"

// LeaderElection configures how replicas elect the leader, which alone writes
// status. Every replica serves the webhooks.
//
// For a short time, two replicas can both act as the leader. This does no harm: both
// write the same entries, and each write has a resourceVersion.
type LeaderElection struct {
	// Enabled: if false, the process acts as the leader.
	Enabled bool
	// Namespace of the Lease; empty is the namespace that the process runs in.
	Namespace string
	// LeaseDuration is how long other replicas wait for a renewal before they take
	// over; zero is 15 seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader tries to renew its Lease before it exits;
	// zero is 10 seconds.
	RenewDeadline time.Duration
	// RetryPeriod is the time between attempts; zero is 2 seconds.
	RetryPeriod time.Duration
}

// The defaults of LeaderElection, which are those of Kubernetes' own components.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// Check returns why client-go would not take the durations.
func (l *LeaderElection) Check() error {
	switch {
	case l.RetryPeriod <= 0:
		return errors.New("the retry period must be positive")
	case float64(l.RenewDeadline) <= leaderelection.JitterFactor*float64(l.RetryPeriod):
		return fmt.Errorf("the renew deadline (%s) must be longer than %g times the retry period (%s)",
			l.RenewDeadline, leaderelection.JitterFactor, l.RetryPeriod)
	case l.LeaseDuration <= l.RenewDeadline:
		return fmt.Errorf("the lease duration (%s) must be longer than the renew deadline (%s)", l.LeaseDuration, l.RenewDeadline)
	}
	return nil
}

// Set adds leader election to a manager's options.
func (l LeaderElection) Set(options *manager.Options) {
	options.LeaderElection = l.Enabled
	options.LeaderElectionID, options.LeaderElectionNamespace = LeaseName, l.Namespace
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &l.LeaseDuration, &l.RenewDeadline, &l.RetryPeriod
}
