package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What a check of 10,000 routes and 2,000 Services may take on two cores.
const (
	maxTime   = 5 * time.Second
	maxMemory = 500 << 20
)

// BenchmarkCheckFolder checks 10,000 routes on 2,000 Services, each object a file of
// one folder, and reports the time and the peak memory of the process.
func BenchmarkCheckFolder(b *testing.B) {
	folder := b.TempDir()
	for i := range 2000 {
		namespace := fmt.Sprintf("team-%d", i%20)
		put(b, folder, fmt.Sprintf("service-%04d.yaml", i), service, namespace, i)
		for j := range 5 {
			put(b, folder, fmt.Sprintf("route-%04d-%d.yaml", i, j), route, namespace, i, j)
		}
	}
	for i := range 20 {
		put(b, folder, fmt.Sprintf("namespace-%d.yaml", i), "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-%d, labels: {gammaguard.dev/grant: all}}\n", i)
	}
	program := build(b, "gammaguard")
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "check", "-f", folder, "-o", "json")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		if summary := string(out[:min(len(out), 400)]); !strings.Contains(summary, `"routes": 10000`) {
			b.Fatalf("not 10,000 routes: %s", summary)
		}
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(took.Seconds(), "s/check")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if took > maxTime || peak > maxMemory {
		b.Errorf("took %v and %d MiB, want at most %v and %d MiB", took, peak>>20, maxTime, maxMemory>>20)
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

func put(tb testing.TB, folder, name, format string, args ...any) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// programs is where the program is built.
var programs string

func TestMain(m *testing.M) { os.Exit(inFolder(m)) }

func inFolder(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "gammaguard-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	return m.Run()
}

// buildOnce builds the program, and returns what went wrong.
var buildOnce = sync.OnceValue(func() error {
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(programs, "built"), ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

// build returns the path of the program under a name of its own.
func build(tb testing.TB, name string) string {
	tb.Helper()
	if err := buildOnce(); err != nil {
		tb.Fatal(err)
	}
	program := filepath.Join(tb.TempDir(), name)
	if err := os.Symlink(filepath.Join(programs, "built"), program); err != nil {
		tb.Fatal(err)
	}
	return program
}
