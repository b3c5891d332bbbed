package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// testDamper returns a damper, and its time.
func testDamper() (*damper, *time.Time) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	d := newDamper()
	d.now = func() time.Time { return at }
	return d, &at
}

func portionOf(n int) portion {
	return portion{kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: fmt.Sprint(n)}, mesh.ServiceKey{Name: "cart"}}
}

// write writes as soon as the damper admits it, and returns how long that took.
func (d *damper) write(t *testing.T, at *time.Time, p portion, wanted uint64, withheld, taken bool) time.Duration {
	t.Helper()
	began := *at
	for range 100 {
		*at = at.Add(d.pause(p, wanted))
		if pause, _ := d.request(p, wanted, withheld, taken); pause == 0 {
			d.written(p, wanted, withheld)
			return at.Sub(began)
		}
	}
	t.Fatal("never written")
	return 0
}

// TestDamperPauses undoes the same entries again and again: they are written at once, once
// more at once, and then with pauses that double up to minutes.
func TestDamperPauses(t *testing.T) {
	d, at := testDamper()
	p := portionOf(1)
	for n := range 14 {
		want, contested := time.Duration(0), 0.0
		if n >= 2 {
			want, contested = min(time.Second<<(n-2), 5*time.Minute), 1
		}
		if got := d.write(t, at, p, 1, false, false); got < want || float64(got) > 1.1*float64(want) {
			t.Errorf("write %d came after %s, want %s to a tenth more", n+1, got, want)
		}
		if got := d.contested(); got != contested {
			t.Errorf("after write %d, %v routes are contested, want %v", n+1, got, contested)
		}
	}
	if got := d.write(t, at, p, 2, false, false); got != 0 || d.contested() != 0 {
		t.Errorf("other entries are written after %s, and %v routes are contested, want neither", got, d.contested())
	}
}

// TestDamperForgets: after a time without writes, a route is no longer contested, and
// nothing is kept of it.
func TestDamperForgets(t *testing.T) {
	d, at := testDamper()
	for range 5 {
		d.write(t, at, portionOf(1), 1, false, false)
	}
	d.yield(kindOn{kind: mesh.HTTPRoute})
	*at = at.Add(memory + time.Second)
	if n := d.contested(); n != 0 {
		t.Errorf("%v routes are contested", n)
	}
	d.write(t, at, portionOf(2), 1, false, false)
	if len(d.records) != 1 || len(d.yields) != 0 {
		t.Errorf("%d records and %d yields are kept, want that of the last write", len(d.records), len(d.yields))
	}
}

// TestDamperInAll has a thousand routes undone without end: they are written at most ten
// times in any second, in all.
func TestDamperInAll(t *testing.T) {
	d, at := testDamper()
	const routes, most = 1000, 2 * contestedRate
	var writes []time.Time
	contested := map[portion]int{}
	for range 3 * 60 * 10 {
		*at = at.Add(100 * time.Millisecond)
		for n := range routes {
			p := portionOf(n)
			if d.pause(p, 1) > 0 {
				continue
			}
			if pause, _ := d.request(p, 1, false, false); pause > 0 {
				continue
			}
			if contested[p]++; contested[p] > contestedThreshold {
				writes = append(writes, *at)
			}
			d.written(p, 1, false)
		}
	}
	for i := range writes {
		if i >= most && writes[i].Sub(writes[i-most]) < time.Second {
			t.Fatalf("%d writes in %s", most+1, writes[i].Sub(writes[i-most]))
		}
	}
	if want := 3 * 60 * contestedRate * 9 / 10; len(writes) < want {
		t.Errorf("%d writes of contested routes in three minutes, want at least %d", len(writes), want)
	}
	if n := d.contested(); n != routes {
		t.Errorf("%v routes are contested", n)
	}
}

// TestDamperYields: an entry that was taken is dropped and comes back without being
// contested, unless it is taken again; entries that only wait count for nothing.
func TestDamperYields(t *testing.T) {
	d, at := testDamper()
	p, waits, k := portionOf(1), portionOf(2), kindOn{kind: mesh.HTTPRoute}
	d.write(t, at, p, 1, false, false)
	d.write(t, at, waits, 1, false, false)
	d.yield(k)
	for _, step := range []struct {
		p                 portion
		withheld, taken   bool
		wait              time.Duration
		contested, undone int
	}{
		{p, true, true, 0, 0, 1},
		{waits, true, false, 0, 0, 0},
		{p, false, false, 0, 0, 1},
		{waits, false, false, 0, 0, 0},
		{p, true, true, time.Second, 1, 2},
		{p, false, false, 0, 1, 2},
	} {
		if got := d.write(t, at, step.p, 1, step.withheld, step.taken); got.Truncate(time.Second) != step.wait {
			t.Errorf("%+v: written after %s", step, got)
		}
		if got := d.records[step.p].undone; got != step.undone || d.contested() != float64(step.contested) {
			t.Errorf("%+v: undone %d times, %v contested", step, got, d.contested())
		}
	}
	if got := d.yielding(k); got == 0 || got > yieldTime {
		t.Errorf("yields for %s more", got)
	}
	*at = at.Add(yieldTime)
	if got := d.yielding(k); got != 0 {
		t.Errorf("yields for %s more, after its time", got)
	}
}

// TestFingerprint: it tells apart all that an entry has, and routes of one name.
func TestFingerprint(t *testing.T) {
	d := newDamper()
	lost := entry(0, desired.Accepted, "False", "Conflicted", "lost")
	seen := map[uint64]string{}
	for name, fingerprint := range map[string]uint64{
		"none":    d.fingerprint("a", nil),
		"one":     d.fingerprint("a", []desired.Entry{lost}),
		"two":     d.fingerprint("a", []desired.Entry{lost, lost}),
		"another": d.fingerprint("b", []desired.Entry{lost}),
		"ref":     d.fingerprint("a", []desired.Entry{entry(1, desired.Accepted, "False", "Conflicted", "lost")}),
		"message": d.fingerprint("a", []desired.Entry{entry(0, desired.Accepted, "False", "Conflicted", "won")}),
	} {
		if same := seen[fingerprint]; same != "" {
			t.Errorf("%s has the fingerprint of %s", name, same)
		}
		seen[fingerprint] = name
	}
	if again := d.fingerprint("a", []desired.Entry{lost}); seen[again] != "one" {
		t.Errorf("the same entries have another fingerprint: %q", seen[again])
	}
}
