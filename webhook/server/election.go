package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrlelection "sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// LeaseName is the name of the lease that replicas elect a leader by.
const LeaseName = "gammaguard-webhook"

// LeaderElection says how replicas agree on who writes status. Every replica
// serves the webhooks.
//
// The lease duration is the longest that the status goes without a writer when a
// leader dies. A standby waits three fifths of it, from when it saw the last
// renewal; the rest is for seeing that renewal late, for looking late whether the
// time is up, and for the write. A leader writes for one retry period and the
// renew deadline after its last renewal, and then no more; that must be over, with
// a retry period to spare for the request under way, before a standby may lead.
// With the defaults: it writes for 1 s + 7 s at most; a standby waits 9 s, sees
// and looks up to 2.2 s late each, and has led for 1.6 s when the 15 s are over.
type LeaderElection struct {
	// Enabled: without it, the process takes itself for the leader.
	Enabled bool
	// Namespace is the lease's; empty is the namespace that the process runs in.
	Namespace string
	// LeaseDuration, of which the lease tells the whole seconds, is how long after
	// the death of a leader another one has taken over; zero is 15 seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long a leader tries to renew its lease before it gives
	// up; zero is 7 seconds.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals, or tries at one; standbys look every
	// 1 to 2.2 of it. Zero is 1 second.
	RetryPeriod time.Duration
}

// The defaults of LeaderElection.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 7 * time.Second
	DefaultRetryPeriod   = time.Second
)

// Check says in one line what is wrong with the durations.
func (l *LeaderElection) Check() error {
	silence := time.Duration(silence(int(l.LeaseDuration/time.Second))) * time.Second
	switch {
	case l.RetryPeriod <= 0:
		return errors.New("the retry period must be positive")
	case float64(l.RenewDeadline) <= leaderelection.JitterFactor*float64(l.RetryPeriod):
		return fmt.Errorf("the renew deadline (%s) must be longer than %g times the retry period (%s)",
			l.RenewDeadline, leaderelection.JitterFactor, l.RetryPeriod)
	case l.RenewDeadline+2*l.RetryPeriod > silence:
		return fmt.Errorf("the renew deadline (%s) and two retry periods (of %s) must be over when a standby may take over, which is %s into a lease duration of %s",
			l.RenewDeadline, l.RetryPeriod, silence, l.LeaseDuration)
	case 15*l.RetryPeriod > l.LeaseDuration:
		return fmt.Errorf("the retry period (%s) must be at most a fifteenth of the lease duration (%s), so that a standby takes over in time",
			l.RetryPeriod, l.LeaseDuration)
	}
	return nil
}

// silence returns how many seconds a standby waits for a leader whose lease tells
// that duration in seconds. It goes by nothing else, so that replicas of other
// settings are given the time that they count on.
func silence(lease int) int { return lease * 3 / 5 }

// NewManager returns a manager that elects a leader so, if Enabled. On a leader
// that did not renew its lease in time, if only because the process stood still,
// its client refuses to change anything.
func (l LeaderElection) NewManager(config *rest.Config, options manager.Options) (manager.Manager, error) {
	if err := l.Check(); err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	if !l.Enabled {
		return manager.New(config, options)
	}
	made, err := ctrlelection.NewResourceLock(config, noEvents{}, ctrlelection.Options{
		LeaderElection: true, LeaderElectionID: LeaseName, LeaderElectionNamespace: l.Namespace, RenewDeadline: l.RenewDeadline,
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	lease, ok := made.(*resourcelock.LeaseLock)
	if !ok {
		return nil, fmt.Errorf("leader election: by %T, not by a lease", made)
	}
	lock := &lock{LeaseLock: lease, term: l.RetryPeriod + l.RenewDeadline}
	options.LeaderElection = true
	options.LeaderElectionID = LeaseName
	options.LeaderElectionResourceLockInterface = lock
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &l.LeaseDuration, &l.RenewDeadline, &l.RetryPeriod
	config = rest.CopyConfig(config)
	config.Wrap(lock.fence)
	mgr, err := manager.New(config, options)
	if err != nil {
		return nil, err
	}
	lease.LockConfig.EventRecorder = mgr.GetEventRecorderFor(lease.Identity()) //nolint:staticcheck // what client-go's locks take
	return mgr, nil
}

// noEvents stands in for a manager that does not exist yet.
type noEvents struct{}

func (noEvents) GetEventRecorderFor(string) record.EventRecorder { return nil }
func (noEvents) GetEventRecorder(string) events.EventRecorder    { return nil }

// lock is the lease as LeaderElection wants it. Only one goroutine, the elector's,
// calls the methods of resourcelock.Interface.
type lock struct {
	*resourcelock.LeaseLock
	// term is how long a leader may write after its last renewal.
	term time.Duration
	// holder is who held the lease when it was last read.
	holder string
	// until is when the term ends; nil if the process does not lead.
	until atomic.Pointer[time.Time]
}

// Get implements resourcelock.Interface. Of another's lease, it returns how long to
// wait for a renewal. The text, by which the elector tells one renewal from
// another, gets the time in full: else it has the seconds only, and the wait would
// begin with the first renewal of a second rather than the last.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, text, err := l.LeaseLock.Get(ctx)
	if err == nil {
		l.holder = found.HolderIdentity
		if l.holder != l.Identity() {
			found.LeaseDurationSeconds = silence(found.LeaseDurationSeconds)
		}
		text = fmt.Appendf(text, " %d", found.RenewTime.UnixMicro())
	}
	return found, text, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, next resourcelock.LeaderElectionRecord) error {
	until := time.Now().Add(l.term)
	err := l.LeaseLock.Create(ctx, next)
	if err == nil {
		l.until.Store(&until)
	}
	return err
}

// Update implements resourcelock.Interface. It does not release what another one
// has taken meanwhile, which client-go would.
func (l *lock) Update(ctx context.Context, next resourcelock.LeaderElectionRecord) error {
	if next.HolderIdentity != l.Identity() {
		l.until.Store(nil)
		if l.holder != l.Identity() {
			return fmt.Errorf("not released: the lease is %q's", l.holder)
		}
		return l.LeaseLock.Update(ctx, next)
	}
	until := time.Now().Add(l.term)
	err := l.LeaseLock.Update(ctx, next)
	if err == nil {
		l.until.Store(&until)
	}
	return err
}

// fence returns a transport that refuses changes of what exists unless the process
// leads. What is created are Events.
func (l *lock) fence(next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		switch req.Method {
		case http.MethodPatch, http.MethodPut, http.MethodDelete:
			if until := l.until.Load(); until == nil || !time.Now().Before(*until) {
				if req.Body != nil {
					_ = req.Body.Close() // as a RoundTripper must
				}
				return nil, errors.New("not sent: the process does not lead, or did not renew its lease in time")
			}
		}
		return next.RoundTrip(req)
	})
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }
