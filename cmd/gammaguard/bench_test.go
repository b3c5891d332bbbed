//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a check of a repository of 20,000 files with 1,500 routes may take on two cores, and a comparison with its last revision.
const (
	maxTime         = 6 * time.Second
	maxRevisionTime = 3 * maxTime
	maxMemory       = 512 << 20
)

// BenchmarkCheck finds the sets of a repository, and checks them: 100 folders, each with
// a namespace, 15 Services, 15 routes and 169 other manifests, each in a file of its own.
// It reports the time and the peak memory of the process.
func BenchmarkCheck(b *testing.B) {
	benchmark(b, largeRepository(b), []string{"check", "-o", "json"}, `"routes": 1500`, maxTime, maxMemory)
}

// BenchmarkDiffRevision compares the same repository with its last revision, of which nothing changed.
func BenchmarkDiffRevision(b *testing.B) {
	root := largeRepository(b)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "base"}} {
		cmd := exec.CommandContext(b.Context(), "git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	benchmark(b, root, []string{"diff", "--base-ref", "HEAD"}, "6000 request classes unchanged", maxRevisionTime, maxMemory)
}

// largeRepository writes the repository.
func largeRepository(b *testing.B) string {
	root := b.TempDir()
	for team := range 100 {
		namespace := fmt.Sprintf("team-%d", team)
		folder := filepath.Join(root, namespace)
		if err := os.Mkdir(folder, 0o750); err != nil {
			b.Fatal(err)
		}
		put(b, folder, "namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {gammaguard.dev/grant: all}}\n", namespace)
		for i := range 15 {
			put(b, folder, fmt.Sprintf("service-%d.yaml", i), service, namespace, i)
			put(b, folder, fmt.Sprintf("route-%d.yaml", i), route, namespace, i, 0)
		}
		for i := range 169 {
			put(b, folder, fmt.Sprintf("other-%d.yaml", i), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other-%d, namespace: %s}\ndata: {a: b}\n", i, namespace)
		}
	}
	return root
}

// BenchmarkCheckFile checks a single file.
func BenchmarkCheckFile(b *testing.B) {
	folder := b.TempDir()
	put(b, folder, "route.yaml", route, "shop", 0, 0)
	benchmark(b, folder, []string{"check", "-f", "route.yaml", "-o", "json"}, `"routes": 1`, 250*time.Millisecond, maxMemory)
}

// benchmark runs the program in the folder with two processors, and fails if it takes more than it may.
func benchmark(b *testing.B, folder string, args []string, want string, most time.Duration, memory int64) {
	b.Helper()
	program := build(b, "gammaguard")
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), "GOMAXPROCS=2"), folder
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
		}
		if summary := string(out[:min(len(out), 400)]); !strings.Contains(summary, want) {
			b.Fatalf("want %s in %s", want, summary)
		}
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(took.Seconds(), "s/check")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if took > most || peak > memory {
		b.Errorf("took %v and %d MiB, want at most %v and %d MiB", took, peak>>20, most, memory>>20)
	}
}

const service = `apiVersion: v1
kind: Service
metadata:
  namespace: %s
  name: service-%d
spec:
  selector: {app: x}
  ports:
  - name: http
    port: 80
    targetPort: 8080
    appProtocol: http
  - name: grpc
    port: 90
    appProtocol: grpc
`

const route = `# A route as people write them.
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  namespace: %[1]s
  name: route-%[2]d-%[3]d
  labels:
    app.kubernetes.io/name: shop
    app.kubernetes.io/part-of: mesh
spec:
  parentRefs:
  - kind: Service
    name: service-%[2]d
    port: 80
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /v%[3]d
      headers:
      - name: x-canary
        value: "true"
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier:
        add:
        - name: x-version
          value: v%[3]d
    backendRefs:
    - name: service-%[2]d
      port: 80
      weight: 90
    - name: service-%[2]d
      port: 90
      weight: 10
  - backendRefs:
    - name: service-%[2]d
`
