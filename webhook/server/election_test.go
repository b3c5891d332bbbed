package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	coretesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

func TestElectionDurations(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		lease, renew, retry time.Duration
		says                string
	}{
		{DefaultLeaseDuration, DefaultRenewDeadline, DefaultRetryPeriod, ""},
		{5 * s, 2500 * ms, 250 * ms, ""},
		{15 * s, 7001 * ms, 1 * s, "the renew deadline (7.001s) and two retry periods (of 1s) must be over when a standby may take over, which is 9s into a lease duration of 15s"},
		{15 * s, 10 * s, 2 * s, "the renew deadline (10s)"},
		{5900 * ms, 2600 * ms, 250 * ms, "which is 3s into a lease duration of 5.9s"}, // the lease tells 5
		{15 * s, 5 * s, 1001 * ms, "the retry period (1.001s) must be at most a fifteenth of the lease duration (15s)"},
		{15 * s, 1200 * ms, 1 * s, "the renew deadline (1.2s) must be longer than 1.2 times the retry period (1s)"},
		{15 * s, 7 * s, 0, "the retry period must be positive"},
		{0, 7 * s, 1 * s, "0s into a lease duration of 0s"},
	} {
		election := LeaderElection{LeaseDuration: test.lease, RenewDeadline: test.renew, RetryPeriod: test.retry}
		err := election.Check()
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s, %s, %s: got %v, want %q", test.lease, test.renew, test.retry, err, test.says)
		}
	}
}

// candidate is an elector on a lease in memory, by a clock that is the test's.
type candidate struct {
	*lock
	die     func()
	led     chan time.Time
	stopped chan time.Time
	renewed atomic.Pointer[time.Time] // when the lease was last renewed
	cutOff  atomic.Bool               // off the lease
}

// candidates starts two, of which the first leads and the second has seen it.
func candidates(t *testing.T, election LeaderElection) (first, second *candidate) {
	t.Helper()
	tracker := coretesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	start := func(name string) *candidate {
		client := &fake.Clientset{}
		c := &candidate{led: make(chan time.Time, 1), stopped: make(chan time.Time, 1)}
		store := coretesting.ObjectReaction(tracker)
		client.AddReactor("*", "*", func(action coretesting.Action) (bool, runtime.Object, error) {
			if c.cutOff.Load() {
				return true, nil, errors.New("cut off")
			}
			if now := time.Now(); action.GetVerb() == "update" {
				c.renewed.Store(&now)
			}
			return store(action)
		})
		c.lock = &lock{term: election.RetryPeriod + election.RenewDeadline, LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: LeaseName}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: c.lock, LeaseDuration: election.LeaseDuration, RenewDeadline: election.RenewDeadline, RetryPeriod: election.RetryPeriod,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { c.led <- time.Now() },
				OnStoppedLeading: func() { c.stopped <- time.Now() },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var ctx context.Context
		ctx, c.die = context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		go elector.Run(ctx)
		synctest.Wait()
		return c
	}
	first = start("first")
	<-first.led
	second = start("second")
	return first, second
}

// TestTakeover: whenever a leader dies or is cut off, another one leads before the
// lease duration is over, with time left to write, and not before the old one has
// stopped.
func TestTakeover(t *testing.T) {
	for _, election := range []LeaderElection{
		{LeaseDuration: DefaultLeaseDuration, RenewDeadline: DefaultRenewDeadline, RetryPeriod: DefaultRetryPeriod},
		{LeaseDuration: 5 * time.Second, RenewDeadline: 2500 * time.Millisecond, RetryPeriod: 250 * time.Millisecond},
		{LeaseDuration: 4 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 250 * time.Millisecond},
	} {
		if err := election.Check(); err != nil {
			t.Fatal(err)
		}
		for _, cutOff := range []bool{false, true} {
			var longest time.Duration
			for range 100 {
				synctest.Test(t, func(t *testing.T) {
					first, second := candidates(t, election)
					<-time.After(election.LeaseDuration + rand.N(election.LeaseDuration))
					end := time.Now()
					if cutOff {
						first.cutOff.Store(true)
					} else {
						first.die()
					}
					renewed, led := *first.renewed.Load(), <-second.led
					if least := election.RenewDeadline + 2*election.RetryPeriod; led.Sub(renewed) < least {
						t.Errorf("took over %s after the last renewal, want %s at least", led.Sub(renewed), least)
					}
					longest = max(longest, led.Sub(end))
					if cutOff {
						if stopped := <-first.stopped; led.Sub(stopped) < election.RetryPeriod {
							t.Errorf("stopped %s before another one led, want %s", led.Sub(stopped), election.RetryPeriod)
						}
					}
					if first.mayChange() == nil || second.mayChange() != nil {
						t.Errorf("at the end: first: %v, second: %v", first.mayChange(), second.mayChange())
					}
					first.die()
					second.die()
				})
			}
			if left := election.LeaseDuration - longest; left < election.LeaseDuration/10 {
				t.Errorf("%+v: it took %s", election, longest)
			}
			t.Logf("%s, cut off: %t: %s at most", election.LeaseDuration, cutOff, longest.Round(time.Millisecond))
		}
	}
}

// mayChange sends a change through the fence.
func (c *candidate) mayChange() error {
	req, err := http.NewRequest(http.MethodPatch, "http://127.0.0.1/", strings.NewReader("{}")) //nolint:noctx // it goes nowhere
	if err != nil {
		return err
	}
	_, err = c.fence(transport(func(*http.Request) (*http.Response, error) { return nil, nil })).RoundTrip(req) //nolint:bodyclose // there is none
	return err
}

// TestFence: a process changes things only from when it has got the lease until it
// should have renewed it, or releases it; it reads and creates at any time.
func TestFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		mine := func(name string) *candidate {
			return &candidate{lock: &lock{term: 8 * time.Second, LeaseLock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: LeaseName}, Client: client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			}}}
		}
		first, second := mine("first"), mine("second")
		record := func(holder string) resourcelock.LeaderElectionRecord {
			return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15}
		}
		try := func(do func() error) {
			t.Helper()
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, a, b bool) {
			t.Helper()
			if got, want := fmt.Sprint(first.mayChange() == nil, second.mayChange() == nil), fmt.Sprint(a, b); got != want {
				t.Errorf("%s: %s may change things, want %s", when, got, want)
			}
		}
		expect("before", false, false)
		try(func() error { return first.Create(t.Context(), record("first")) })
		expect("created", true, false)
		<-time.After(7 * time.Second)
		try(func() error { return first.Update(t.Context(), record("first")) })
		<-time.After(8*time.Second - 1)
		expect("renewed", true, false)
		<-time.After(1)
		expect("not renewed", false, false)

		found, _, err := second.Get(t.Context())
		if err != nil || found.LeaseDurationSeconds != 9 || found.HolderIdentity != "first" {
			t.Errorf("another's lease: %+v, %v", found, err)
		}
		try(func() error { return second.Update(t.Context(), record("second")) })
		expect("taken", false, true)
		if found, _, err = second.Get(t.Context()); err != nil || found.LeaseDurationSeconds != 15 {
			t.Errorf("the own lease: %+v, %v", found, err)
		}

		// The first one is about to end. It has not noticed who leads now.
		if _, _, err := first.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := first.Update(t.Context(), record("")); err == nil || err.Error() != `not released: the lease is "second"'s` {
			t.Errorf("another's lease was released: %v", err)
		}
		try(func() error { return second.Update(t.Context(), record("")) })
		expect("released", false, false)

		for method, sent := range map[string]bool{http.MethodGet: true, http.MethodPost: true, http.MethodPut: false, http.MethodDelete: false} {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			_, err = second.fence(transport(func(*http.Request) (*http.Response, error) { return nil, nil })).RoundTrip(req) //nolint:bodyclose // there is none
			if (err == nil) != sent {
				t.Errorf("%s without the lease: %v", method, err)
			}
		}
	})
}
