package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// cpuTime is the user and system time that a process has used. It is counted in
// hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in brackets, which may hold spaces.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const utime, stime = 11, 12
	var ticks int
	for _, i := range []int{utime, stime} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
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

// stolen is the share of the machine's CPU that other guests of its host took
// between two readings of machineTicks.
func stolen(before, after [2]float64) float64 {
	return (after[0] - before[0]) / max(1, after[1]-before[1])
}

// machineTicks is the CPU time stolen and in all since boot.
func machineTicks() [2]float64 {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return [2]float64{}
	}
	line, _, _ := strings.Cut(string(data), "\n")
	var ticks [2]float64
	for i, field := range strings.Fields(line)[1:9] {
		n, _ := strconv.ParseFloat(field, 64)
		ticks[1] += n
		if i == 7 {
			ticks[0] = n
		}
	}
	return ticks
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
