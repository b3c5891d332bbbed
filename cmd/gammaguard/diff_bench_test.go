//go:build linux

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a difference of 1,000 routes with 5,000 matches may take on two cores.
const (
	maxDiffTime   = 5 * time.Second
	maxDiffMemory = 512 << 20
)

// matchesOf write the matches of a route. Paths: each route has a few paths, some with
// a header or a method. One path: matches of all routes are distinguished by the value of
// a header alone. Other headers: and the second version looks at another header, so
// that a request can meet any match of the one and any of the other.
var matchesOf = map[string]func(route, version int) string{
	"paths": func(route, _ int) string {
		var all []string
		for i := range 5 {
			match := fmt.Sprintf(`{path: {type: PathPrefix, value: /api/%d/%d}`, route%200, i)
			if i%2 == 0 {
				match += fmt.Sprintf(`, headers: [{name: tenant, value: t%d}]`, route/200)
			}
			if i == 4 {
				match += `, method: POST`
			}
			all = append(all, match+"}")
		}
		return strings.Join(all, ", ")
	},
	"one path": func(route, _ int) string {
		var all []string
		for i := range 5 {
			all = append(all, fmt.Sprintf(`{headers: [{name: tenant, value: t%d-%d}]}`, route, i))
		}
		return strings.Join(all, ", ")
	},
	"other headers": func(route, version int) string {
		var all []string
		for i := range 5 {
			all = append(all, fmt.Sprintf(`{headers: [{name: %s, value: t%d-%d}]}`, []string{"tenant", "team"}[version], route, i))
		}
		return strings.Join(all, ", ")
	},
}

// BenchmarkDiffFolder compares two folders of so many routes with five matches each,
// every tenth with another backend, and reports the time and the peak
// memory of the process.
func BenchmarkDiffFolder(b *testing.B) {
	for _, test := range []struct {
		routes, services int
		matches          string
	}{
		{1000, 100, "paths"},
		{100, 1, "paths"},
		{200, 1, "paths"},
		{500, 1, "paths"},
		{1000, 1, "paths"},
		{2000, 1, "paths"},
		{1000, 1, "one path"},
		{100, 1, "other headers"},
		{1000, 1, "other headers"},
	} {
		b.Run(fmt.Sprintf("matches=%d/ports=%d/%s", 5*test.routes, test.services, strings.ReplaceAll(test.matches, " ", "-")), func(b *testing.B) {
			folders := [2]string{b.TempDir(), b.TempDir()}
			for version, folder := range folders {
				for i := range test.services {
					put(b, folder, fmt.Sprintf("service-%04d.yaml", i), service, "shop", i)
				}
				put(b, folder, "namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: all}}\n")
				for i := range test.routes {
					port := 80
					if version == 1 && i%10 == 0 {
						port = 90
					}
					put(b, folder, fmt.Sprintf("route-%04d.yaml", i), diffedRoute, i, i%test.services, matchesOf[test.matches](i, version), port)
				}
			}
			compareFolders(b, folders)
		})
	}
}

const diffedRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: route-%04[1]d}
spec:
  parentRefs:
  - {group: "", kind: Service, name: service-%[2]d, port: 80}
  rules:
  - matches: [%[3]s]
    backendRefs:
    - {name: service-%[2]d, port: %[4]d}
`

var changesCounted = regexp.MustCompile(`(\d+) changes?; `)

func compareFolders(b *testing.B, folders [2]string) {
	program := build(b, "gammaguard")
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "diff", "--base", folders[0], "-f", folders[1])
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
			b.Fatalf("%v: %s", err, out)
		}
		changes := changesCounted.FindSubmatch(out)
		if changes == nil {
			b.Fatalf("no changes: %s", out)
		}
		var count float64
		_, _ = fmt.Sscan(string(changes[1]), &count)
		b.ReportMetric(count, "changes")
		b.ReportMetric(float64(strings.Count(string(out), "these are examples")), "witnesses-only")
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(took.Seconds(), "s/diff")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if took > maxDiffTime || peak > maxDiffMemory {
		b.Errorf("took %v and %d MiB, want at most %v and %d MiB", took, peak>>20, maxDiffTime, maxDiffMemory>>20)
	}
}
