package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// headroom is by how much the heap may grow between two garbage collections, in
	// bytes. On a small cluster little is live, and to collect each time that the heap has
	// doubled takes an eighth of the CPU of a request.
	headroom = 18 << 20
	// leastHeap is what Go's collector counts as live at least.
	leastHeap = 4 << 20
	// headroomInterval is how often the headroom is given again: what is live changes
	// with the cluster.
	headroomInterval = 10 * time.Second
)

// giveHeadroom lets the heap grow by the headroom until the context ends, or by what is
// live where that is more. Where GOGC is set, that counts instead.
func giveHeadroom(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	wait.UntilWithContext(ctx, func(context.Context) {
		metrics.Read(live)
		debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	}, headroomInterval)
}

// gcPercent returns GOGC for a number of bytes that are live.
func gcPercent(live uint64) int {
	return int(max(100, 100*headroom/max(live, leastHeap))) //nolint:gosec // at most 450
}
