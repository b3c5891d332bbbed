package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

const headroom = 18 << 20

func TestPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 450, 4 << 20: 450, 6 << 20: 300, 18 << 20: 100, 60 << 20: 100, 1 << 40: 100} {
		if got := percent(headroom, live); got != want {
			t.Errorf("%d bytes live: %d, want %d", live, got, want)
		}
	}
}

// TestGiveHeadroom: it counts at once, and follows what is live at each collection.
func TestGiveHeadroom(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Cleanup(func() { debug.SetGCPercent(100) })
	runtime.GC()
	GiveHeadroom(headroom)
	if now := current(); now <= 100 {
		t.Errorf("with little live, GOGC is %d", now)
	}
	ballast := make([]byte, 64<<20)
	for range 100 {
		runtime.GC()
		if now := current(); now == 100 {
			runtime.KeepAlive(ballast)
			return
		}
		runtime.Gosched()
	}
	t.Errorf("with 64 MiB live, GOGC is %d", current())
}

func current() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
