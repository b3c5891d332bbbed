package server

import (
	"context"
	"runtime/debug"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gammaguard/gammaguard/status"
)

// giveBack returns what is run to give memory back to the operating system that
// only the start needed, in every replica and in the one that leads. Go's runtime
// would keep it, and at many routes it is as much as the cache itself.
func (s *Server) giveBack(reconciler *status.Reconciler) []manager.Runnable {
	return []manager.Runnable{
		everywhere{func(ctx context.Context) error {
			if s.cache.WaitForSync(ctx) == nil {
				debug.FreeOSMemory()
			}
			return nil
		}},
		manager.RunnableFunc(func(ctx context.Context) error { // of the leader alone
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for !reconciler.Leads() {
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
				}
			}
			if reconciler.WaitIdle(ctx) == nil {
				debug.FreeOSMemory()
			}
			return nil
		}),
	}
}

// everywhere is run by every replica.
type everywhere struct{ manager.RunnableFunc }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
