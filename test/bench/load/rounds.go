package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// target is a webhook to send requests to.
type target struct {
	url    string
	pid    int
	client *http.Client
	uid    atomic.Uint64
	// admitsAll says that it is the floor, which refuses nothing.
	admitsAll bool
}

// newTarget trusts the CA. API servers speak HTTP/1.1 to webhooks behind a
// Service, and so does it.
func newTarget(url string, ca []byte, pid, clients int) *target {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: clients,
	}
	return &target{url: url + "?timeout=10s", pid: pid, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// ask posts a review and returns the verdict.
func (t *target) ask(ctx context.Context, r *review) (admitted bool, err error) {
	uid := fmt.Sprintf("%036x", t.uid.Add(1))
	body := slices.Concat(r.before, []byte(uid), r.after)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return false, err
	}
	var answer struct {
		Response struct {
			UID     string `json:"uid"`
			Allowed bool   `json:"allowed"`
		} `json:"response"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || response.StatusCode != http.StatusOK || answer.Response.UID != uid {
		return false, fmt.Errorf("%s: %.300s", response.Status, data)
	}
	return answer.Response.Allowed, nil
}

// sample is one round on one target, or several rounds together.
type sample struct {
	cpu  float64   // microseconds a request
	took []float64 // by each request, in microseconds, sorted
}

func (s sample) p50() float64 { return quantile(s.took, 0.5) }
func (s sample) p99() float64 { return quantile(s.took, 0.99) }

// together returns the rounds, which sent as many requests each, as one.
func together(rounds []sample) sample {
	var all sample
	for _, s := range rounds {
		all.cpu += s.cpu / float64(len(rounds))
		all.took = append(all.took, s.took...)
	}
	slices.Sort(all.took)
	return all
}

// plan says how much is sent.
type plan struct{ clients, requests, rounds int }

// round sends the plan's requests from all clients, each of which waits for an
// answer before its next request. It begins at a place among the reviews.
func (t *target) round(ctx context.Context, p plan, reviews []review, from int) (sample, error) {
	took := make([]float64, p.requests)
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		fault atomic.Pointer[error]
	)
	before, err := cpuTime(t.pid)
	if err != nil {
		return sample{}, err
	}
	for range p.clients {
		wg.Go(func() {
			for fault.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= p.requests {
					return
				}
				r := &reviews[(from+i)%len(reviews)]
				start := time.Now()
				admitted, err := t.ask(ctx, r)
				took[i] = float64(time.Since(start).Nanoseconds()) / 1e3
				if err == nil && admitted != (t.admitsAll || r.admitted()) {
					err = fmt.Errorf("wrong answer to a request of kind %q: admitted is %t", r.kind, admitted)
				}
				if err != nil {
					fault.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := fault.Load(); err != nil {
		return sample{}, *err
	}
	after, err := cpuTime(t.pid)
	slices.Sort(took)
	return sample{cpu: float64((after - before).Nanoseconds()) / 1e3 / float64(p.requests), took: took}, err
}

// compare runs rounds on the guard and the floor in turns, so that what slows the
// machine down slows both, and returns the medians and the medians of the ratios.
// Many short rounds tell more than a few long ones: less happens between a round
// and its counterpart.
func compare(ctx context.Context, p plan, guard, floor *target, reviews []review) (Comparison, error) {
	targets := []*target{guard, floor}
	var samples [2][]sample
	for i := range p.rounds + 1 {
		for j := range targets {
			j = (i + j) % len(targets)
			s, err := targets[j].round(ctx, p, reviews, i*p.requests)
			if err != nil {
				return Comparison{}, err
			}
			if i > 0 { // the first is to warm up
				samples[j] = append(samples[j], s)
			}
		}
	}
	all := [2]sample{together(samples[0]), together(samples[1])}
	of := func(f func(sample) float64) Measure {
		var a, b, ratios []float64
		for i := range samples[0] {
			x, y := f(samples[0][i]), f(samples[1][i])
			a, b, ratios = append(a, x), append(b, y), append(ratios, x/y)
		}
		slices.Sort(ratios)
		return Measure{
			Guard: median(a), Floor: median(b), Ratio: median(ratios), Lower: quantile(ratios, 0.25), Upper: quantile(ratios, 0.75),
			All: f(all[0]) / f(all[1]),
		}
	}
	return Comparison{
		CPU: of(func(s sample) float64 { return s.cpu }),
		P50: of(sample.p50),
		P99: of(sample.p99),
	}, nil
}

// quantile returns a quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
