package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Result is what a run found. Times are in the unit that a field's name ends in.
type Result struct {
	Machine string `json:"machine"`
	Go      string `json:"go"`
	Date    string `json:"date"`
	Flags   string `json:"flags"`
	// AuditDate is when the standing audit was measured, if that was a run of its own.
	AuditDate string  `json:"auditDate,omitempty"`
	Stages    []Stage `json:"stages"`
}

// Stage is what was found with so many routes in the cluster.
type Stage struct {
	Routes   int `json:"routes"`
	Services int `json:"services"`
	// Webhook has the comparisons with the floor, by traffic.
	Webhook []Comparison `json:"webhook"`
	// ReadySeconds is from the process's start until /readyz says so.
	ReadySeconds float64 `json:"readySeconds"`
	// RSSMiB and HeapMiB are after a forced garbage collection of a process that
	// has just settled, and LoadedMiB is the memory at the end of the requests.
	RSSMiB    float64 `json:"rssMiB"`
	HeapMiB   float64 `json:"heapMiB"`
	LoadedMiB float64 `json:"loadedMiB"`
	Status    *Status `json:"status,omitempty"`
	Audit     *Audit  `json:"audit,omitempty"`
}

// The kinds of traffic.
const (
	someBad             = "validating, 5 % bad"
	someBadOthersWarned = "validating, 5 % bad, the others warned twice"
	mutatingSomeBad     = "mutating, 5 % bad"
	noneBad             = "validating, none bad"
	allWarned           = "validating, all warned twice"
	updated             = "validating, updates of stored routes"
	crowded             = "validating, a Service that 1000 routes share"
)

// Comparison compares the webhook with the floor, in microseconds a request. P99 is of the
// requests that must be admitted, and Denied the p99 of the others, if there are any.
type Comparison struct {
	Traffic string   `json:"traffic"`
	CPU     Measure  `json:"cpu"`
	P99     Measure  `json:"p99"`
	Denied  *Measure `json:"p99Denied,omitempty"`
}

// Measure has medians over the rounds, and the median and the quartiles of the
// ratios within a round.
type Measure struct {
	Guard float64 `json:"guard"`
	Floor float64 `json:"floor"`
	Ratio float64 `json:"ratio"`
	Lower float64 `json:"lowerQuartile"`
	Upper float64 `json:"upperQuartile"`
}

// Status is what the reconciler took.
type Status struct {
	// ColdSeconds is from the process's start over a settled cluster until every
	// Service was looked at, and ColdWrites what it wrote then.
	ColdSeconds float64 `json:"coldSeconds"`
	ColdWrites  int     `json:"coldWrites"`
	// Idle and Busy are from the apply of a route that conflicts until a watch
	// shows its mark, while nothing else happens and during the mass event.
	Idle Latency `json:"markIdle"`
	Busy Latency `json:"markDuringMassEvent"`
	// Withdrawn and Returned are a namespace's grant.
	Withdrawn Mass `json:"grantWithdrawn"`
	Returned  Mass `json:"grantReturned"`
}

// Audit is what the standing audit took, and what the process costs with and without it.
type Audit struct {
	// FirstSeconds is from the process's start until every route was judged.
	FirstSeconds float64 `json:"firstSeconds"`
	// With is the process as it is, and Without one with --disable-standing-audit.
	With    Rest `json:"with"`
	Without Rest `json:"without"`
	// Changes are from sending a request until /metrics shows what follows from it.
	Changes []Change `json:"changes"`
}

// More is how much more the audit has on the heap, in percent.
func (a *Audit) More() float64 { return 100 * (a.With.HeapMiB/a.Without.HeapMiB - 1) }

// MostPerMinute is the CPU that the process may take at rest, in milliseconds: by a
// thousandth of a processor more, two measurements differ anyway.
func (a *Audit) MostPerMinute() float64 { return a.Without.PerMinute() + 60 }

// Rest is what a process takes that has nothing to do.
type Rest struct {
	Seconds   float64 `json:"seconds"`
	CPUMillis float64 `json:"cpuMillis"`
	HeapMiB   float64 `json:"heapMiB"`
	RSSMiB    float64 `json:"rssMiB"`
}

// PerMinute is the CPU of a minute, in milliseconds.
func (r Rest) PerMinute() float64 { return r.CPUMillis * 60 / r.Seconds }

// Change is a kind of change, and the number of routes that it bears on, at most.
type Change struct {
	What   string `json:"what"`
	Routes int    `json:"routes"`
	Latency
}

// Slowest is the change that is seen last, at p99.
func (a *Audit) Slowest() Change {
	return slices.MaxFunc(a.Changes, func(a, b Change) int { return cmp.Compare(a.P99, b.P99) })
}

// Latency has quantiles in milliseconds.
type Latency struct {
	Samples int     `json:"samples"`
	P50     float64 `json:"p50ms"`
	P99     float64 `json:"p99ms"`
	took    []float64
}

// since adds what has taken until now.
func (l *Latency) since(start time.Time) {
	l.took = append(l.took, milliseconds(time.Since(start)))
	l.Samples, l.P50, l.P99 = len(l.took), quantile(l.took, 0.5), quantile(l.took, 0.99)
}

// Mass is an event that affects many routes at once.
type Mass struct {
	Routes  int     `json:"routes"`
	Seconds float64 `json:"seconds"`
}

// Most is the stage with the most routes.
func (r *Result) Most() *Stage { return &r.Stages[len(r.Stages)-1] }

// At is the stage with so many routes, or nil.
func (r *Result) At(routes int) *Stage {
	i := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Routes == routes })
	if i < 0 {
		return nil
	}
	return &r.Stages[i]
}

// Growth is how many times the CPU with the fewest routes the CPU with the most
// is, for the traffic for which that is worst.
func (r *Result) Growth() (worst float64) {
	for i := range r.Most().Webhook {
		worst = max(worst, r.Most().Webhook[i].CPU.Ratio/r.Stages[0].Webhook[i].CPU.Ratio)
	}
	return worst
}

// Crowded is the most CPU that the Service takes that many routes share.
func (r *Result) Crowded() (most float64) {
	for i := range r.Stages {
		most = max(most, r.Stages[i].Of(crowded).CPU.Ratio)
	}
	return most
}

// RouteBytes is what a cached route takes, on the heap and resident: nothing where
// the sizes are too near to each other to tell.
func (r *Result) RouteBytes() []float64 {
	least, most := &r.Stages[0], r.Most()
	more := float64(most.Routes - least.Routes)
	if more < 10_000 {
		return nil
	}
	return []float64{(most.HeapMiB - least.HeapMiB) * (1 << 20) / more, (most.RSSMiB - least.RSSMiB) * (1 << 20) / more}
}

// Of returns the comparison with the traffic.
func (s *Stage) Of(traffic string) Comparison {
	return s.Webhook[slices.IndexFunc(s.Webhook, func(c Comparison) bool { return c.Traffic == traffic })]
}

// P99s reads "1.10, denied 1.50".
func (c Comparison) P99s() string {
	text := fmt.Sprintf("%.2f", c.P99.Ratio)
	if c.Denied != nil {
		text += fmt.Sprintf(", denied %.2f", c.Denied.Ratio)
	}
	return text
}

// Within reports whether the ratios are no more than that.
func (c Comparison) Within(cpu, p99, denied float64) bool {
	return c.CPU.Ratio <= cpu && c.P99.Ratio <= p99 && (c.Denied == nil || c.Denied.Ratio <= denied)
}
