package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	kube "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/bench/floor"
)

// target is a webhook to send requests to.
type target struct {
	url    string
	pid    int
	client *http.Client
	uid    atomic.Uint64
	// admitsAll: it refuses nothing. confirms: it is the floor, told what to read.
	admitsAll, confirms bool
}

// newTarget returns a target of this machine. API servers speak HTTP/1.1 to
// webhooks behind a Service, and so does it.
func newTarget(url string, pid int, admitsAll bool) *target {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: clients} //nolint:gosec // on loopback
	return &target{url: url, pid: pid, admitsAll: admitsAll, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// ask posts a review and returns the verdict.
func (t *target) ask(ctx context.Context, r *review) (admitted bool, err error) {
	uid := fmt.Sprintf("%036x", t.uid.Add(1))
	body := slices.Concat(r.before, []byte(uid), r.after)
	query := url.Values{"timeout": {"10s"}}
	if t.confirms {
		query["read"] = r.reads
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	data, err := do(t.client, request)
	if err != nil {
		return false, err
	}
	answer := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{}}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Response == nil || string(answer.Response.UID) != uid {
		return false, fmt.Errorf("not an answer: %.300s", data)
	}
	return answer.Response.Allowed, nil
}

// sample is one round on one target: its CPU, and the 99th percentiles of the requests to
// admit and of those to deny, if there are any. All are in microseconds a request.
type sample struct{ cpu, admitted, denied float64 }

// round sends the plan's requests from all clients, each of which waits for an
// answer before its next request, and for the pace. It begins at a place among the reviews.
func (t *target) round(ctx context.Context, p plan, pace rate.Limit, reviews []review, from int) (sample, error) {
	limiter := rate.NewLimiter(pace, clients)
	took := make([]float64, p.requests)
	before, err := cpuTime(t.pid)
	if err != nil {
		return sample{}, err
	}
	err = parallel(ctx, clients, p.requests, func(ctx context.Context, i int) error {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
		r := &reviews[(from+i)%len(reviews)]
		start := time.Now()
		admitted, err := t.ask(ctx, r)
		took[i] = microseconds(time.Since(start))
		if err == nil && admitted != (t.admitsAll || r.admitted()) {
			err = fmt.Errorf("wrong answer to a request of kind %q: admitted is %t", r.kind, admitted)
		}
		return err
	})
	if err != nil {
		return sample{}, err
	}
	after, err := cpuTime(t.pid)
	var admitted, denied []float64
	for i := range took {
		if reviews[(from+i)%len(reviews)].admitted() {
			admitted = append(admitted, took[i])
		} else {
			denied = append(denied, took[i])
		}
	}
	return sample{microseconds(after-before) / float64(p.requests), quantile(admitted, 0.99), quantile(denied, 0.99)}, err
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// compare runs rounds on the guard and the floor in turns, so that what slows the
// machine down slows both, and returns the medians and the medians of the ratios.
// Many short rounds tell more than a few long ones: less happens between a round
// and its counterpart.
func compare(ctx context.Context, p plan, pace rate.Limit, guard, floor *target, reviews []review) (c Comparison, err error) {
	targets := []*target{guard, floor}
	var cpu, admitted, denied [2][]float64
	for i := range p.rounds + 1 {
		for j := range targets {
			j = (i + j) % len(targets)
			s, err := targets[j].round(ctx, p, pace, reviews, i*p.requests)
			if err != nil {
				return c, err
			}
			if i > 0 { // the first is to warm up
				cpu[j], admitted[j], denied[j] = append(cpu[j], s.cpu), append(admitted[j], s.admitted), append(denied[j], s.denied)
			}
		}
	}
	c = Comparison{CPU: measure(cpu), P99: measure(admitted)}
	if floor.confirms && denied[0][0] > 0 {
		took := measure(denied)
		c.Denied = &took
	}
	return c, nil
}

// measure compares what the rounds on the guard and the floor took.
func measure(took [2][]float64) Measure {
	var ratios []float64
	for i := range took[0] {
		ratios = append(ratios, took[0][i]/took[1][i])
	}
	return Measure{quantile(took[0], 0.5), quantile(took[1], 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75)}
}

// quantile sorts the values, and returns a quantile.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// serveFloor serves the least that a webhook in Go does, at a URL that it prints:
// it decodes the review into the published types, makes the reads that it is told to, and admits.
func serveFloor(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.NextProtos = []string{"http/1.1"} // as gammaguard's live reads do
	client, err := kube.HTTPClientFor(config)
	if err != nil {
		return err
	}
	server := httptest.NewTLSServer(floor.Confirming(client, config.Host))
	defer server.Close()
	fmt.Println(server.URL)
	<-ctx.Done()
	return nil
}

// startFloor starts this program once more, as the floor, until the context ends.
func startFloor(ctx context.Context, kubeconfig string) (url string, pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	cmd := exec.CommandContext(ctx, program, "-floor", kubeconfig)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = guard.ChildAttributes()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	if _, err := fmt.Fscanln(out, &url); err != nil {
		return "", 0, errors.Join(fmt.Errorf("start the floor: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return url, cmd.Process.Pid, nil
}
