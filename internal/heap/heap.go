// Package heap says how far a program's heap grows before it is collected.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// leastLive is what Go's collector counts as live at least.
const leastLive = 4 << 20

// GiveHeadroom lets the heap grow by the headroom, in bytes, before it is collected, or by
// what is live where that is more; where GOGC is set, that counts instead. It does so anew
// after each collection, as what is live changes. Where little is live, to collect each time
// that the heap has doubled takes an eighth of the CPU, and more.
func GiveHeadroom(headroom uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(percent(headroom, live[0].Value.Uint64()))
	runtime.AddCleanup(new([64]byte), func(struct{}) { GiveHeadroom(headroom) }, struct{}{})
}

// percent returns GOGC for a number of bytes that are live.
func percent(headroom, live uint64) int {
	return int(max(100, 100*headroom/max(live, leastLive))) //nolint:gosec // some thousands at most
}
