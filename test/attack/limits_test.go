package attack

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// mostTime and mostMemory are what one request may cost.
	mostTime   = time.Second
	mostMemory = 128 << 20
	// largest is the size of the largest request that an API server takes.
	largest = 3 << 20
)

// quickest returns how long the call takes at best, of at most three times: others may use
// the machine too.
func quickest(call func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for try := 0; try < 3 && best > mostTime; try++ {
		begun := time.Now()
		call()
		best = min(best, time.Since(begun))
	}
	return best
}

// repeated is the text n times, as a list. %d is the number of each.
func repeated(n int, text string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(text, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

const (
	parentOnCart  = `{"group": "", "kind": "Service", "name": "cart", "port": 80}`
	backendOnCart = `{"name": "cart", "port": 80}`
)

// atLimits are specs at each limit of the schemas. Namespace limits has the Services that
// they name.
var atLimits = []struct {
	name, kind, spec string
}{
	{"32 parentRefs", "HTTPRoute", `{"parentRefs": [` + parents32 + `]}`},
	{"16 rules with 8 matches", "HTTPRoute", ruleOf(16, `{"matches": [`+repeated(8, `{"path": {"value": "/cart/%d"}}`)+`], "backendRefs": [`+backendOnCart+`]}`)},
	{"64 matches", "HTTPRoute", ruleOf(1, `{"matches": [`+repeated(64, `{"path": {"value": "/cart/%d"}}`)+`], "backendRefs": [`+backendOnCart+`]}`)},
	{"16 headers and query parameters", "HTTPRoute", ruleOf(1, `{"matches": [{"headers": [`+repeated(16, `{"name": "h%d", "value": "v"}`)+`], "queryParams": [`+
		repeated(16, `{"name": "q%d", "value": "v"}`)+`]}], "backendRefs": [`+backendOnCart+`]}`)},
	{"16 filters", "HTTPRoute", ruleOf(1, `{"filters": [`+repeated(16, `{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "cart-%d", "port": 80}}}`)+
		`], "backendRefs": [`+backendOnCart+`]}`)},
	{"16 rules with 16 backendRefs", "HTTPRoute", ruleOf(16, `{"backendRefs": [`+backends16+`]}`)},
	{"16 hostnames", "HTTPRoute", `{"parentRefs": [` + parentOnCart + `], "hostnames": [` + hosts16 + `]}`},
	{"all of them", "HTTPRoute", `{"parentRefs": [` + parents32 + `], "hostnames": [` + hosts16 + `], "rules": [` +
		repeatedRule(16, `{"matches": [`+repeatedRule(8, `{"headers": [`+repeated(16, `{"name": "h%d", "value": "v"}`)+`]}`)+`], "backendRefs": [`+backends16+`]}`) + `]}`},
	{"16 rules with 8 matches", "GRPCRoute", ruleOf(16, `{"matches": [`+repeatedRule(8, `{"method": {"service": "cart", "method": "add"}, "headers": [`+
		repeated(16, `{"name": "h%d", "value": "v"}`)+`]}`)+`], "backendRefs": [`+backends16+`]}`)},
	{"1,024 hostnames", "TLSRoute", `{"parentRefs": [` + parents32 + `], "hostnames": [` + repeated(1024, `"h%d.example.com"`) + `], "rules": [{"backendRefs": [` + backends16 + `]}]}`},
	{"16 backendRefs", "TCPRoute", `{"parentRefs": [` + parents32 + `], "rules": [{"backendRefs": [` + backends16 + `]}]}`},
}

var (
	parents32  = repeated(32, `{"group": "", "kind": "Service", "name": "cart-%d", "port": 80}`)
	backends16 = repeated(16, `{"name": "cart-%d", "port": 80}`)
	hosts16    = repeated(16, `"h%d.example.com"`)
)

func repeatedRule(n int, rule string) string {
	return strings.TrimSuffix(strings.Repeat(rule+",", n), ",")
}

func ruleOf(n int, rule string) string {
	return `{"parentRefs": [` + parentOnCart + `], "rules": [` + repeatedRule(n, rule) + `]}`
}

// TestSchemaLimits: objects at the limits of the schema are judged within the webhooks'
// timeout, and admitted with a grant.
func TestSchemaLimits(t *testing.T) {
	s := start(t)
	s.namespace(t, "limits", "all")
	s.namespace(t, "limits-denied", "none")
	for i := range 32 {
		s.service(t, "limits", fmt.Sprintf("cart-%d", i), object{"ports": []any{object{"port": int64(80)}}})
	}
	asker := s.raw(t)
	for _, limit := range atLimits {
		for namespace, status := range map[string]string{"limits": "201", "limits-denied": "403"} {
			if answer := asker.createAt(t, endpoint{limit.kind, "v1"}, namespace, limit.spec, "?dryRun=All"); !strings.HasPrefix(answer, status) {
				t.Errorf("%s of a %s in %s: %.500s, want %s", limit.name, limit.kind, namespace, answer, status)
			}
		}
	}
}

// A bulk is a spec that is as large as one likes: BULK stands for so many items.
type bulk struct{ name, around, item string }

func (b bulk) spec(size int) string {
	n := size / (len(strings.ReplaceAll(b.item, "%d", "000000")) + 1)
	return strings.Replace(b.around, "BULK", repeated(n, b.item), 1)
}

// tooLarge are beyond the schema's limits.
var tooLarge = []bulk{
	{"parentRefs", `{"parentRefs": [BULK]}`, `{"group":"","kind":"Service","name":"cart","namespace":"n%d"}`},
	{"parentRefs on one Service", `{"parentRefs": [BULK]}`, `{"group":"","kind":"Service","name":"cart","port":%d}`},
	{"rules", `{"parentRefs": [` + parentOnCart + `], "rules": [BULK]}`, `{}`},
	{"matches", `{"parentRefs": [` + parentOnCart + `], "rules": [{"matches": [BULK]}]}`, `{"path":{"value":"/%d"}}`},
	{"backendRefs without a port", `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [BULK]}]}`, `{"name":"cart-%d"}`},
	{"filters", `{"parentRefs": [` + parentOnCart + `], "rules": [{"filters": [BULK]}]}`, `{"requestMirror":{"backendRef":{"name":"c%d"}}}`},
	{"hostnames", `{"parentRefs": [` + parentOnCart + `], "hostnames": [BULK]}`, `"h%d"`},
}

// TestLargeRequest: the webhook answers a request of 3 MiB within a second, in a namespace
// with a grant and in one without, and its process stays small. It is called as the API
// server calls it, which takes longer by itself for such an object.
func TestLargeRequest(t *testing.T) {
	s := start(t)
	s.namespace(t, "large", "all")
	s.namespace(t, "large-denied", "none")
	webhook := newCaller(s.guard.URL, s.guard.CA)
	defer webhook.client.CloseIdleConnections()
	for _, large := range tooLarge {
		spec := large.spec(largest - 2<<10)
		for _, namespace := range []string{"large", "large-denied"} {
			for _, path := range []string{"/mutate", "/validate"} {
				var allowed bool
				var err error
				took := quickest(func() { allowed, err = webhook.call(t.Context(), path, namespace, spec) })
				t.Logf("%s of %s in %s: %s", path, large.name, namespace, took)
				if err != nil || allowed != (path == "/mutate") || took > mostTime {
					t.Errorf("%s of %s in %s: allowed: %v, %v, after %s", path, large.name, namespace, allowed, err, took)
				}
			}
		}
	}
	answer := s.raw(t).create(t, "large-denied", tooLarge[0].spec(largest-2<<10), "?dryRun=All")
	if !strings.HasPrefix(answer, "4") {
		t.Errorf("the API server answers %.300s", answer)
	}
	s.wantSmall(t)
}

// wantSmall fails where the webhook's process has used more memory than it may.
func (s *site) wantSmall(t *testing.T) {
	t.Helper()
	peak := s.peakMemory(t)
	t.Logf("the webhook's process has used %d MiB at most", peak>>20)
	if peak > mostMemory {
		t.Errorf("the webhook's process has used %d MiB, want at most %d", peak>>20, mostMemory>>20)
	}
}

// peakMemory is the most memory that the webhook's process has had resident.
func (s *site) peakMemory(t testing.TB) uint64 {
	t.Helper()
	process, err := procfs.NewProc(s.guard.PID())
	if err != nil {
		t.Fatal(err)
	}
	status, err := process.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	return status.VmHWM
}
