package main

// Result is what a run found. Times are in the unit that a field's name ends in.
type Result struct {
	Machine string  `json:"machine"`
	Go      string  `json:"go"`
	Date    string  `json:"date"`
	Flags   string  `json:"flags"`
	Stages  []Stage `json:"stages"`
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
}

// The kinds of traffic. The last is followed by how many routes share the Service.
const (
	someBad             = "validating, 5 % bad"
	someBadOthersWarned = "validating, 5 % bad, the others warned twice"
	mutatingSomeBad     = "mutating, 5 % bad"
	noneBad             = "validating, none bad"
	allWarned           = "validating, all warned twice"
	crowded             = "validating, a Service"
)

// Comparison compares the webhook with the floor, in microseconds a request.
type Comparison struct {
	Traffic string  `json:"traffic"`
	CPU     Measure `json:"cpu"`
	P99     Measure `json:"p99"`
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
	// Service was looked at, ColdWrites what it wrote then, and ColdCPUSeconds its CPU.
	ColdSeconds    float64 `json:"coldSeconds"`
	ColdWrites     int     `json:"coldWrites"`
	ColdCPUSeconds float64 `json:"coldCPUSeconds"`
	// Idle and Busy are from the apply of a route that conflicts until a watch
	// shows its mark, while nothing else happens and during the mass event.
	Idle Latency `json:"markIdle"`
	Busy Latency `json:"markDuringMassEvent"`
	// Withdrawn and Returned are a namespace's grant.
	Withdrawn Mass `json:"grantWithdrawn"`
	Returned  Mass `json:"grantReturned"`
}

// Latency has quantiles in milliseconds.
type Latency struct {
	Samples int     `json:"samples"`
	P50     float64 `json:"p50ms"`
	P99     float64 `json:"p99ms"`
}

// Mass is an event that affects many routes at once. Writes are all patches in the
// meantime, those of fresh conflicts included.
type Mass struct {
	Routes     int     `json:"routes"`
	Seconds    float64 `json:"seconds"`
	Writes     int     `json:"writes"`
	CPUSeconds float64 `json:"cpuSeconds"`
}
