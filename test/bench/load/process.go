package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// cpuTime is how long a process's threads have run, to the nanosecond. Those that
// have ended are not counted, but Go keeps its threads.
func cpuTime(pid int) (all time.Duration, err error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		ran, err := thread.Schedstat()
		if err != nil {
			return 0, err
		}
		all += time.Duration(ran.RunningNanoseconds) //nolint:gosec // for 292 years
	}
	return all, nil
}

// memory is how much memory a process has resident, in MiB.
func memory(pid int) (float64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return float64(status.VmRSS) / (1 << 20), err
}

// rest measures a process that has nothing to do: the memory once no more is given back
// after a forced garbage collection, and then the CPU.
func rest(ctx context.Context, g *guard.Guard, pause time.Duration) (r Rest, err error) {
	const heap = "# HeapAlloc ="
	profile, err := numbers(ctx, g.PprofURL+"/debug/pprof/heap?gc=1&debug=1")
	if err == nil && profile[heap] == 0 {
		err = fmt.Errorf("%s: no HeapAlloc in the profile", g.PprofURL)
	}
	if err != nil {
		return r, err
	}
	r.HeapMiB, r.RSSMiB = profile[heap]/(1<<20), math.Inf(1)
	err = await(ctx, 500*time.Millisecond, time.Minute, func() (bool, error) {
		before := r.RSSMiB
		r.RSSMiB, err = memory(g.PID())
		return r.RSSMiB >= before, err
	})
	if err != nil {
		return r, err
	}
	before, err := cpuTime(g.PID())
	if err != nil {
		return r, err
	}
	select {
	case <-ctx.Done():
		return r, ctx.Err()
	case <-time.After(pause):
	}
	after, err := cpuTime(g.PID())
	r.Seconds, r.CPUMillis = pause.Seconds(), milliseconds(after-before)
	return r, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// quiet waits until the machine has been idle for a second, so that what ran before
// is not measured with what comes, or until patience has run out.
func quiet(ctx context.Context, patience time.Duration) error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	idle := math.Inf(1) // in seconds since boot, of all processors
	err = await(ctx, time.Second, patience, func() (bool, error) {
		now, err := fs.Stat()
		before := idle
		idle = now.CPUTotal.Idle + now.CPUTotal.Iowait
		return idle-before >= 0.95*float64(runtime.NumCPU()), err
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		progress("  the machine is not idle: the figures may be worse than they are")
		return nil
	}
	return err
}

// await polls until done.
func await(ctx context.Context, interval, patience time.Duration, done func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, interval, patience, true, func(context.Context) (bool, error) { return done() })
}

// awaitMetrics polls the metrics until they are as expected.
func awaitMetrics(ctx context.Context, g *guard.Guard, expected func(metrics map[string]float64) bool) error {
	return await(ctx, 20*time.Millisecond, 5*time.Minute, func() (bool, error) {
		metrics, err := numbers(ctx, g.MetricsURL)
		return err == nil && expected(metrics), err
	})
}

// numbers reads a page of lines that end in a number after a space, such as
// metrics. What comes before it is the key.
func numbers(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	page, err := do(http.DefaultClient, request)
	values := map[string]float64{}
	for line := range strings.Lines(string(page)) {
		i := strings.LastIndexByte(line, ' ')
		if n, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64); err == nil && i > 0 {
			values[line[:i]] = n
		}
	}
	return values, err
}

// do sends a request and returns the body of a response whose status is good.
func do(client *http.Client, request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %.300s", request.Method, request.URL, response.Status, body)
	}
	return body, err
}
