package status

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

const (
	// contestedThreshold is how often another writer must undo the same entries for a route to
	// be contested. The first time, they are written again at once.
	contestedThreshold = 2
	// contestedRate bounds the writes of contested routes a second, all together, after as
	// many at once.
	contestedRate = 5
	// memory is how long a write is remembered. It is longer than the longest pause.
	memory = 15 * time.Minute
	// yieldTime is how long entries wait for those of another controller.
	yieldTime = 30 * time.Second
)

// pauses are those before a contested route is written again.
var pauses = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 5 * time.Minute}

// damper keeps the peace with other writers of status: it remembers what was written, notices
// where that is undone, and spaces the writes there. It also remembers where a controller
// takes entries of ours for its own.
type damper struct {
	now  func() time.Time
	all  *rate.Limiter // of writes of contested routes
	seed maphash.Seed

	mu      sync.Mutex
	records map[portion]*record
	swept   time.Time
	yields  map[kindOn]time.Time // until when
}

// portion is a route's entries about one Service: what is written at a time.
type portion struct {
	route   kube.RouteKey
	service mesh.ServiceKey
}

// kindOn are the routes of a kind on a Service: if a controller takes an entry of one
// for its own, it does so with all of them.
type kindOn struct {
	kind    mesh.RouteKind
	service mesh.ServiceKey
}

// record is what is remembered of a portion.
type record struct {
	wanted   uint64 // the fingerprint of the entries that were last written
	withheld bool   // some of them were not written, but wait for another controller's
	last     time.Time

	undone  int  // times in a row
	noticed bool // the last time is counted, and the entries may be written again when due
	due     time.Time
	pauses  wait.Backoff
}

func newDamper() *damper {
	return &damper{
		now: time.Now, all: rate.NewLimiter(contestedRate, contestedRate), seed: maphash.MakeSeed(),
		records: map[portion]*record{}, yields: map[kindOn]time.Time{},
	}
}

// fingerprint identifies the entries that the route with this UID must have.
func (d *damper) fingerprint(uid string, entries []desired.Entry) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	maphash.WriteComparable(&h, uid)
	for _, entry := range entries {
		maphash.WriteComparable(&h, entry)
	}
	return h.Sum64()
}

// pause returns how long the entries must not be written; zero if they may.
func (d *damper) pause(p portion, wanted uint64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.records[p]; r != nil && r.noticed && r.wanted == wanted {
		return max(0, r.due.Sub(d.now()))
	}
	return 0
}

// request reports whether the entries can be written now that the stored ones were seen to
// differ, and otherwise how long to wait, and whether this makes, or keeps, the route
// contested. Entries that are to be withheld are not undone, unless they were taken.
func (d *damper) request(p portion, wanted uint64, withhold, taken bool) (pause time.Duration, contested bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, r := d.now(), d.records[p]
	switch {
	case r == nil, r.wanted != wanted, !taken && (withhold || r.withheld):
		return 0, false
	case !r.noticed:
		r.noticed, r.last, r.due = true, now, now
		if r.undone++; r.undone >= contestedThreshold {
			pause, contested = r.pauses.Step(), true
			r.due = now.Add(pause)
		}
	case r.undone >= contestedThreshold && !d.all.AllowN(now, 1):
		pause = time.Second
		r.due = now.Add(pause)
	}
	return pause, contested
}

// written records a write.
func (d *damper) written(p portion, wanted uint64, withheld bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, r := d.now(), d.records[p]
	if r == nil || r.wanted != wanted {
		r = &record{wanted: wanted, pauses: pauses}
		d.records[p] = r
	}
	r.last, r.withheld, r.noticed = now, withheld, false
	if now.Sub(d.swept) > time.Minute {
		d.swept = now
		maps.DeleteFunc(d.records, func(_ portion, r *record) bool { return now.Sub(r.last) > memory })
		maps.DeleteFunc(d.yields, func(_ kindOn, until time.Time) bool { return until.Before(now) })
	}
}

// contested returns how many routes are contested, by Service.
func (d *damper) contested() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, now := 0, d.now()
	for _, r := range d.records {
		if r.undone >= contestedThreshold && now.Sub(r.last) <= memory {
			n++
		}
	}
	return float64(n)
}

// yield makes the entries of these routes wait for those of another controller.
func (d *damper) yield(k kindOn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.yields[k] = d.now().Add(yieldTime)
}

// yielding returns for how long they still wait; zero if they need not.
func (d *damper) yielding(k kindOn) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.yields[k].Sub(d.now()))
}
