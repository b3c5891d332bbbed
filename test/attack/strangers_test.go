package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestStrangers calls the port without credentials, from another address than the API
// server's: for namespaces that do not exist, and so that each call takes many live reads.
// The record stays that of the others, and they are answered as before.
func TestStrangers(t *testing.T) {
	s := start(t)
	s.namespace(t, "strangers", "all")
	s.namespace(t, "strangers-denied", "none")
	webhook := newCaller(s.guard.URL, s.guard.CA)
	defer webhook.client.CloseIdleConnections()
	webhook.client.Transport.(*nethttp.Transport).DialContext = elsewhere.DialContext
	each := func(calls int, namespace func(i int) string, spec string) {
		t.Helper()
		places := make(chan struct{}, 64)
		var all sync.WaitGroup
		for i := range calls {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				allowed, err := webhook.call(context.WithoutCancel(t.Context()), "/validate", namespace(i), spec)
				if allowed || err != nil {
					t.Errorf("call %d: allowed: %t, %v", i, allowed, err)
				}
			})
		}
		all.Wait()
	}
	const named = 505 // more than the metrics name namespaces
	each(named, func(i int) string { return fmt.Sprint("nowhere-", i) }, `{"parentRefs": [`+parentOnCart+`]}`)
	metrics := s.metrics(t)
	if strings.Contains(metrics, `namespace="nowhere-`) || !strings.Contains(metrics, `namespace="_other"`) {
		t.Error("the metrics name namespaces that do not exist")
	}

	reads, begun := liveReads(t, metrics), time.Now()
	missing := repeated(32, `{"group": "", "kind": "Service", "name": "missing-%d", "namespace": "nowhere-%d"}`)
	each(200, func(int) string { return "strangers" }, `{"parentRefs": [`+missing+`]}`)
	took := time.Since(begun)
	metrics = s.metrics(t)
	made := liveReads(t, metrics) - reads
	if most := 1000 + 250*(took.Seconds()+1); made > most {
		t.Errorf("%v live reads in %s, want at most %v", made, took, most)
	}
	if !strings.Contains(metrics, `result="limited"`) {
		t.Error("no live read is counted as limited")
	}

	asker := s.raw(t)
	spec := `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [` + backendOnCart + `]}]}`
	for namespace, status := range map[string]string{"strangers": "201", "strangers-denied": "403"} {
		if answer := asker.createAt(t, http, namespace, spec, ""); !strings.HasPrefix(answer, status) {
			t.Errorf("the API server, in %s: %.500s", namespace, answer)
		}
	}
	strangers, denied := 0, false
	for lines := bufio.NewScanner(strings.NewReader(s.guard.Log())); lines.Scan(); {
		var line struct {
			Message, Namespace, Caller string
			Authenticated              *bool
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Caller == "" {
			continue
		}
		if line.Authenticated == nil || *line.Authenticated {
			t.Fatalf("a line does not say that the caller was not authenticated: %s", lines.Text())
		}
		if line.Caller == "127.0.0.2" {
			strangers++
		}
		denied = denied || line.Caller == "127.0.0.1" && line.Namespace == "strangers-denied"
	}
	if strangers == 0 || strangers > 400 || !denied {
		t.Errorf("%d lines of strangers; the denial of the API server's request is logged: %t", strangers, denied)
	}
}

// metrics returns the webhook's metrics.
func (s *site) metrics(t *testing.T) string {
	t.Helper()
	text, err := s.guard.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	liveRead = regexp.MustCompile(`(?m)^gammaguard_live_reads_total\{kind="[^"]*",result="(?:found|not-found|error)"\} (.*)$`)
	request  = regexp.MustCompile(`(?m)^gammaguard_webhook_requests_total\{.*\} (.*)$`)
)

// liveReads is how many live reads were made.
func liveReads(t *testing.T, metrics string) float64 { return total(t, metrics, liveRead) }

// total adds up the values that the expression finds.
func total(t testing.TB, metrics string, value *regexp.Regexp) (total float64) {
	t.Helper()
	for _, match := range value.FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}
