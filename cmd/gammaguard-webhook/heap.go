package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// headroom is by how much the heap may grow between two garbage collections, in
	// bytes. On a small cluster little is live, and to collect each time that the heap has
	// doubled takes an eighth of the CPU of a request.
	headroom = 18 << 20
	// leastHeap is what Go's collector counts as live at least.
	leastHeap = 4 << 20
)

// giveHeadroom lets the heap grow by the headroom before it is collected, or by what is
// live where that is more; where GOGC is set, that counts instead. It does so anew after
// each collection, as what is live changes with the cluster.
func giveHeadroom() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	runtime.AddCleanup(new([64]byte), func(struct{}) { giveHeadroom() }, struct{}{})
}

// gcPercent returns GOGC for a number of bytes that are live.
func gcPercent(live uint64) int {
	return int(max(100, 100*headroom/max(live, leastHeap))) //nolint:gosec // at most 450
}
