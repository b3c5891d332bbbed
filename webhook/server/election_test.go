package server

import (
	"strings"
	"testing"
	"time"
)

func TestElectionDurations(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name                string
		lease, renew, retry time.Duration
		says                string
	}{
		{name: "defaults", lease: DefaultLeaseDuration, renew: DefaultRenewDeadline, retry: DefaultRetryPeriod},
		{name: "no retry period", lease: 15 * s, renew: 10 * s, says: "the retry period must be positive"},
		{
			name: "renew deadline too short", lease: 15 * s, renew: 2400 * time.Millisecond, retry: 2 * s,
			says: "the renew deadline (2.4s) must be longer than 1.2 times the retry period (2s)",
		},
		{
			name: "lease duration too short", lease: 10 * s, renew: 10 * s, retry: 2 * s,
			says: "the lease duration (10s) must be longer than the renew deadline (10s)",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			election := LeaderElection{LeaseDuration: test.lease, RenewDeadline: test.renew, RetryPeriod: test.retry}
			err := election.Check()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}
