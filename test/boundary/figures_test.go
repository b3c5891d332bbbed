package boundary

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/leaderelection"
)

// figures are the sentences of the documentation with a figure that the code sets, with
// %s in the place of each figure, and the constant expressions that give them in a file.
var figures = []struct {
	page, sentence, file string
	values               []string
}{
	{"ARCHITECTURE.md", "they are listed live, at most %s of a kind", "internal/kube/attached.go", []string{"MaxRoutes"}},
	{"ARCHITECTURE.md", "One request causes at most %s live reads", "mesh/reader.go", []string{"MaxReads"}},
	{"docs/audit-log.md", "An annotation that exceeds %s KiB ends", "webhook/annotations.go", []string{"maxAnnotation >> 10"}},
	{"docs/graph.md", "A graph shows at most %s routes", "internal/cli/graph/graph.go", []string{"MaxRoutes"}},
	{
		"docs/install.md", "a CA (valid for %s years) and a certificate (valid for %s) in the Secret `gammaguard-webhook-cert`, and renews each %s days before",
		"certs/selfmanaged/rotation.go",
		[]string{"caValidity / (365 * day)", "validity / (365 * day)", "renewalBefore / day"},
	},
	{"docs/install.md", "a CA that was replaced stays trusted for %s hours", "certs/selfmanaged/trust.go", []string{"overlap / time.Hour"}},
	{"docs/install.md", "For at most %s seconds in the tests, until the Pod's endpoint is removed", "test/e2e/disruption_test.go", []string{"mostRefused / time.Second"}},
	{"docs/install.md", "after %s seconds (`--max-staleness`)", "webhook/server/options.go", []string{"DefaultMaxStaleness / time.Second"}},
	{
		"docs/install.md", "A replica serves %s connections at once, closes one that takes more than %s seconds for its handshake or for a header, and one that is idle for %s seconds",
		"webhook/server/hooks.go",
		[]string{"maxConnections", "handshakeTimeout / time.Second", "idleTimeout / time.Second"},
	},
	{"docs/install.md", "At most %s connections of one address wait so", "webhook/server/hooks.go", []string{"maxWaiting"}},
	{"docs/install.md", "callers of one address cause at most %s per second, after a burst of %s", "webhook/budget.go", []string{"readRate", "readBurst"}},
	{
		"docs/install.md", "A replica gives a body %s seconds to arrive, and works on %s MiB of requests up to %s KiB and on one larger one (of %s MiB) at a time. Further calls wait for %s ms",
		"webhook/intake.go",
		[]string{"readTimeout / time.Second", "maxUsual >> 20", "usualBody >> 10", "maxLarge >> 20", "maxWait / time.Millisecond"},
	},
	{"docs/install.md", "A denial lists at most %s findings", "webhook/denial.go", []string{"maxCauses"}},
	{"docs/install.md", "One request causes at most %s live reads", "mesh/reader.go", []string{"MaxReads"}},
	{"docs/mesh-admins.md", "each replica writes up to %s lines per second, after a burst of %s,", "webhook/trail.go", []string{"trailRate", "trailBurst"}},
	{"docs/mesh-admins.md", "Each annotation ends at %s KiB", "webhook/annotations.go", []string{"maxAnnotation >> 10"}},
	{"docs/mesh-admins.md", "The first %s namespaces have their own value", "webhook/metrics.go", []string{"maxNamespaces"}},
	{"docs/mesh-admins.md", "Up to %s namespaces with findings have their own value", "status/audit/metric.go", []string{"maxNamespaces"}},
	{"docs/mesh-admins.md", "does not cover changes of other labels that `grants.selectors` select by. If the request has more than %s KiB", "webhook/stored.go", []string{"previewBody >> 10"}},
	{"docs/mesh-admins.md", "while the namespace is being deleted. If the request has more than %s KiB", "webhook/stored.go", []string{"previewBody >> 10"}},
	{"docs/mesh-admins.md", "It covers the first %s routes of the namespace", "webhook/stored.go", []string{"mostRead"}},
	{"docs/mesh-admins.md", "as a parent or a backend, of the first %s routes of the namespace", "webhook/stored.go", []string{"mostRead"}},
	{"docs/mesh-admins.md", "more than %s bytes) accepts no consumer routes", "mesh/annotation.go", []string{"MaxAnnotation"}},
	{"docs/mesh-admins.md", "A Report lists the first %s findings", "status/audit/report.go", []string{"maxResults"}},
	{"docs/mesh-admins.md", "at most %s Reports per second, after a burst of %s", "status/audit/reports.go", []string{"writeRate", "writeBurst"}},
	{"docs/mesh-admins.md", "logs one line and tries again every %s seconds", "status/audit/reports.go", []string{"writeRetry / time.Second"}},
	{"docs/metrics.md", "(_other beyond %s namespaces with findings)", "status/audit/metric.go", []string{"maxNamespaces"}},
	{"docs/mesh-admins.md", "at most %s seconds after the last time", "status/audit/queue.go", []string{"maxRest / time.Second"}},
	{"docs/performance.md", "turn of up to %s routes", "status/reconciler.go", []string{"batchSize"}},
	{"docs/metrics.md", "in the last %s minutes. A route on several Services", "status/damper.go", []string{"memory / time.Minute"}},
	{"docs/security.md", "or if the webhook uses %s MiB or more", "test/attack/limits_test.go", []string{"mostMemory >> 20"}},
	{"docs/runbook.md", "`status.parents` of a route has %s entries, the maximum", "status/merge.go", []string{"maxParents"}},
	{"docs/runbook.md", "the changes of the last %s seconds or more. With the default `--max-staleness`", "webhook/server/options.go", []string{"DefaultMaxStaleness / time.Second"}},
	{"docs/status.md", "the lease duration (%s s,", "webhook/server/election.go", []string{"DefaultLeaseDuration / time.Second"}},
	{"docs/status.md", "retry periods (of %s s,", "webhook/server/election.go", []string{"DefaultRetryPeriod / time.Second"}},
	{"docs/status.md", "the renew deadline (%s s,", "webhook/server/election.go", []string{"DefaultRenewDeadline / time.Second"}},
	{"docs/status.md", "adds none within %s seconds", "status/damper.go", []string{"yieldTime / time.Second"}},
	{"docs/status.md", "at most %s times in any second", "status/damper.go", []string{"2 * contestedRate"}}, // as many at once, and then at that rate
	{"docs/status.md", "until %s minutes after its last write", "status/damper.go", []string{"memory / time.Minute"}},
	{"docs/status.md", "ports times its routes exceed %s", "validate/table.go", []string{"maxPortBindings"}},
	{"docs/status.md", "already has %s entries", "status/merge.go", []string{"maxParents"}},
	{"docs/runbook.md", "The old CA stays trusted for %s hours", "certs/selfmanaged/trust.go", []string{"overlap / time.Hour"}},
	{"docs/traffic.md", "in at most %s lines", "webhook/preview.go", []string{"previewLines"}},
	{"docs/traffic.md", "more than %s other routes or %s matches must be compared", "webhook/preview.go", []string{"previewRoutes", "previewMatches"}},
	{"docs/traffic.md", "compares at most %s pairs", "traffic/compare.go", []string{"mostWork"}},
}

// settings are those that stand in a text which is not evaluated.
var settings = []struct{ page, sentence, file, setting string }{
	{"ARCHITECTURE.md", "for a minute in `.ci/run`", "Makefile", "FOR ?= 1m"},
	{"docs/ci.md", "It fails above 6 s and 512 MiB, and above 0.25 s for a single file", "cmd/gammaguard/bench_test.go", "maxTime = 6 * time.Second maxMemory = 512 << 20"},
	{"docs/ci.md", "and above 0.25 s for a single file", "cmd/gammaguard/bench_test.go", "250*time.Millisecond, maxMemory)"},
	{"docs/configuration.md", "in at most 100 characters", "config/validation.go", "RuneCountInString(g.Contact) > 100"},
	{"docs/install.md", "keeps serving for 8 seconds (`--shutdown-delay`)", "config/base/deployment.yaml", "--shutdown-delay=8s"},
	{"docs/install.md", "The memory limit of a replica is 512 MiB", "config/base/deployment.yaml", "limits: {cpu: \"1\", memory: 512Mi}"},
	{"docs/install.md", "a replica renews each after a third of the bound", "internal/kube/feed.go", "seconds := int64((bound / 3).Seconds())"},
	{"docs/install.md", "`timeoutSeconds` of the webhooks that judge routes is 1", "config/webhook/validating.yaml", "timeoutSeconds: 1"},
	{"docs/install.md", "`timeoutSeconds` of the webhooks that judge routes is 1", "config/webhook/mutating.yaml", "timeoutSeconds: 1"},
	{"docs/install.md", "signs a certificate that is valid for 90 days", "config/components/cert-manager/certificates.yaml", "duration: 2160h # 90 days"},
	{"docs/mesh-admins.md", "or the Service more than 1,000 ports", "webhook/services.go", "mesh.DecodeList(d, p, 1000)"},
	{"docs/performance.md", "limited to 200 requests a second with bursts of 400", "status/add.go", "cmp.Or(options.QPS, 200), cmp.Or(options.Burst, 400)"},
	{"docs/performance.md", "The benchmark fails beyond 3 s and 15 s", "internal/cli/cluster/large_test.go", "\"one namespace\": 3 * time.Second, \"all\": 15 * time.Second"},
	{"docs/runbook.md", "has scraped no replica for 5 minutes", "config/components/monitoring/rules.yaml", "expr: absent(gammaguard_build_info) for: 5m"},
	{"docs/runbook.md", "expires in less than 14 days", "config/components/monitoring/rules.yaml", "time() < 14 * 86400"},
	{"docs/runbook.md", "For 10 minutes, a webhook has answered some requests", "config/components/monitoring/rules.yaml", "[5m])) > 0 for: 10m"},
	{"docs/runbook.md", "denies more than ten times as many requests as on the day before, and more than one in ten seconds", "config/components/monitoring/rules.yaml", "> 0.1 and sum(rate(gammaguard_webhook_requests_total{verdict=\"deny\"}[10m])) > 10 * (sum("},
	{"docs/runbook.md", "In the last 15 minutes, a user or namespace in `exemptions`", "config/components/monitoring/rules.yaml", "{lowered=\"exemption\"} offset 15m)"},
	{"docs/runbook.md", "the changes of the last 30 seconds", "config/components/monitoring/rules.yaml", "gammaguard_cache_age_seconds) > 30"},
	{"docs/runbook.md", "for the stored routes than an hour ago", "config/components/monitoring/rules.yaml", "{action=\"deny\"} offset 1h)"},
	{"docs/security.md", "It fails if the p99 of the granted user is more than 2 times as long", "test/attack/load_test.go", "mostSlower = 2.0"},
	{"docs/security.md", "without `FUZZ`, for 5 seconds each", "Makefile", "FUZZ ?= 5s"},
	{"docs/traffic.md", "The benchmark fails above 5 s or 512 MiB", "cmd/gammaguard/diff_bench_test.go", "maxDiffTime = 5 * time.Second maxDiffMemory = 512 << 20"},
	{"docs/upgrade.md", "replaces one Pod at a time, and removes an old one only when a new one is ready", "config/base/deployment.yaml", "rollingUpdate: {maxSurge: 1, maxUnavailable: 0}"},
	{"docs/status.md", "for 1 second at first and for twice as long each time, up to 5 minutes", "status/damper.go", "Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 5 * time.Minute"},
}

// TestFigures compares what the documentation says with the constants of the code.
func TestFigures(t *testing.T) {
	e := &evaluator{files: token.NewFileSet()}
	e.standard = importer.ForCompiler(e.files, "gc", func(path string) (io.ReadCloser, error) {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-f", "{{.Export}}", path).Output()
		if err != nil {
			return nil, err
		}
		return os.Open(strings.TrimSpace(string(out)))
	})
	for _, f := range figures {
		var values []any
		for _, expr := range f.values {
			values = append(values, grouped(e.evaluate(t, f.file, expr)))
		}
		if want := fmt.Sprintf(f.sentence, values...); !strings.Contains(words(t, f.page), want) {
			t.Errorf("%s lacks %q, which %s sets", f.page, want, f.file)
		}
	}
	if want := fmt.Sprintf("(every 2 to %.1f s)", 2*(1+leaderelection.JitterFactor)); !strings.Contains(words(t, "docs/status.md"), want) {
		t.Errorf("docs/status.md lacks %q, which client-go sets", want)
	}
	for _, s := range settings {
		if !strings.Contains(words(t, s.page), s.sentence) || !strings.Contains(words(t, s.file), s.setting) {
			t.Errorf("%s has not %q, or %s not %q", s.page, s.sentence, s.file, s.setting)
		}
	}
}

// words is the text of a file with single spaces.
func words(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// grouped writes an integer as the documentation does: 3,000.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// evaluator evaluates constants. Of what their files import, it knows the package time.
type evaluator struct {
	files    *token.FileSet
	standard types.Importer
}

// Import implements types.Importer.
func (e *evaluator) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, errors.New("not needed")
	}
	return e.standard.Import(path)
}

// evaluate evaluates an expression of the constants of a file.
func (e *evaluator) evaluate(t *testing.T, file, expr string) string {
	t.Helper()
	parsed, err := parser.ParseFile(e.files, filepath.Join("..", "..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}, Importer: e}
	pkg, _ := config.Check(file, e.files, []*ast.File{parsed}, nil)
	value, err := types.Eval(e.files, pkg, parsed.End(), expr)
	if err != nil || value.Value == nil {
		t.Fatalf("%s: %s: %v", file, expr, err)
	}
	return value.Value.ExactString()
}
