package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime is how long a process's threads have run, to the nanosecond. Those that
// have ended are not counted, but Go keeps its threads.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("process %d has ended, or this kernel does not count what threads use", pid)
	}
	var all time.Duration
	for _, path := range threads {
		data, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		all += time.Duration(n)
	}
	return all, nil
}

// memory is how much memory a process has resident, now and at most so far, in
// MiB.
func memory(pid int) (now, peak float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		var into *float64
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			into = &now
		case strings.HasPrefix(line, "VmHWM:"):
			into = &peak
		default:
			continue
		}
		kib, err := strconv.Atoi(strings.Fields(line)[1])
		if err != nil {
			return 0, 0, err
		}
		*into = float64(kib) / 1024
	}
	return now, peak, nil
}

// settledMemory is memory once no more is given back.
func settledMemory(ctx context.Context, pid int) (now, peak float64, err error) {
	before := math.Inf(1)
	for {
		if now, peak, err = memory(pid); err != nil || now >= before {
			return now, peak, err
		}
		before = now
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// ticks are the machine's CPU time since boot, in all, idle, and taken by other
// guests of its host.
type ticks struct{ all, idle, stolen float64 }

// machineTicks reads the ticks; where the system does not tell, they are zero.
func machineTicks() ticks {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	line, _, _ := strings.Cut(string(data), "\n")
	const idle, waiting, stolen = 3, 4, 7
	var t ticks
	for i, field := range strings.Fields(line)[1:9] {
		n, _ := strconv.ParseFloat(field, 64)
		t.all += n
		switch i {
		case idle, waiting:
			t.idle += n
		case stolen:
			t.stolen += n
		}
	}
	return t
}

// since returns the shares of the CPU time since an earlier reading.
func (t ticks) since(before ticks) (idle, stolen float64) {
	all := max(1, t.all-before.all)
	return (t.idle - before.idle) / all, (t.stolen - before.stolen) / all
}

// quiet waits until the machine has been idle for a second, so that what ran before
// is not measured with what comes, or until patience has run out. It returns how
// idle the last second was.
func quiet(ctx context.Context, patience time.Duration) (idle float64, err error) {
	const enough = 0.95
	for began := time.Now(); ; {
		before := machineTicks()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
		if idle, _ = machineTicks().since(before); idle >= enough || time.Since(began) > patience {
			return idle, nil
		}
	}
}

// heap forces a garbage collection and returns the bytes on the heap that are in
// use after it.
func heap(ctx context.Context, pprof string) (float64, error) {
	values, err := numbers(ctx, pprof+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	if values["# HeapAlloc ="] == 0 {
		return 0, fmt.Errorf("%s: no HeapAlloc in the profile", pprof)
	}
	return values["# HeapAlloc ="], nil
}

// numbers reads a page of lines that end in a number after a space, such as
// metrics. What comes before it is the key.
func numbers(ctx context.Context, url string) (_ map[string]float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	values := map[string]float64{}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if i := strings.LastIndexByte(line, ' '); i > 0 {
			if n, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64); err == nil {
				values[line[:i]] = n
			}
		}
		if err == io.EOF {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
