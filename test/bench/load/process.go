package main

import (
	"bytes"
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

// settledMemory is memory once no more is given back.
func settledMemory(ctx context.Context, pid int) (now float64, err error) {
	before := math.Inf(1)
	err = wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (bool, error) {
		settled := before
		now, err = memory(pid)
		before = now
		return now >= settled, err
	})
	return now, err
}

// quiet waits until the machine has been idle for a second, so that what ran before
// is not measured with what comes, or until patience has run out.
func quiet(ctx context.Context, patience time.Duration) error {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return err
	}
	idle := math.Inf(1) // in seconds since boot, of all processors
	err = wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(context.Context) (bool, error) {
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
func await(ctx context.Context, patience time.Duration, done func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) { return done() })
}

// heap forces a garbage collection and returns what is in use on the heap after it,
// in MiB.
func heap(ctx context.Context, pprof string) (float64, error) {
	values, err := numbers(ctx, pprof+"/debug/pprof/heap?gc=1&debug=1")
	if err == nil && values["# HeapAlloc ="] == 0 {
		err = fmt.Errorf("%s: no HeapAlloc in the profile", pprof)
	}
	return values["# HeapAlloc ="] / (1 << 20), err
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
	for line := range bytes.Lines(page) {
		if i := bytes.LastIndexByte(line, ' '); i > 0 {
			if n, err := strconv.ParseFloat(strings.TrimSpace(string(line[i+1:])), 64); err == nil {
				values[string(line[:i])] = n
			}
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
