package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

const stranger, apiserver = "10.0.0.66", "10.0.0.1"

// askFrom posts the request as a client at the address does.
func askFrom(t *testing.T, handler http.Handler, address string, certificate bool, a admission) *admissionv1.AdmissionResponse {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidatePath+"?timeout=5s", bytes.NewReader(a.body(t)))
	req.Header.Set("Content-Type", "application/json")
	req.RemoteAddr = address + ":40000"
	req.TLS = &tls.ConnectionState{}
	if certificate {
		req.TLS.VerifiedChains = [][]*x509.Certificate{{}}
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
		t.Fatalf("HTTP %d, %v: %s", recorder.Code, err, recorder.Body)
	}
	return review.Response
}

// in is routeOn in another namespace.
func in(namespace, parentRefs string) string {
	return strings.Replace(routeOn(parentRefs), "namespace: shop", "namespace: "+namespace, 1)
}

const onHeadless = `{group: "", kind: Service, name: headless}`

// TestStrangersWriteNoRecord: whatever a caller names, the namespaces that exist are counted
// by their names, lines on others' requests and on exemptions are written, and each line
// says who called.
func TestStrangersWriteNoRecord(t *testing.T) {
	synctest.Test(t, strangersWriteNoRecord)
}

func strangersWriteNoRecord(t *testing.T) {
	var logged lines
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Exemptions: validate.Exemptions{Usernames: []string{"breaks-glass"}}})
	if err != nil {
		t.Fatal(err)
	}
	o := logged.options(t)
	handler := Validating(o, engine)
	for i := range maxNamespaces + 5 {
		askFrom(t, handler, stranger, false, admission{object: in(fmt.Sprint("tenant-", i), onCart), user: "innocent-user"})
	}
	if n := testutil.CollectAndCount(o.Metrics.findings); n != 1 {
		t.Errorf("%d series, want one for all namespaces that do not exist", n)
	}
	if len(logged) != trailBurst {
		t.Errorf("%d lines by one caller, want %d", len(logged), trailBurst)
	}
	for _, line := range logged {
		if line["authenticated"] != false || line["caller"] != stranger {
			t.Fatalf("a line does not say who called: %v", line)
		}
	}
	for _, test := range []struct {
		what, user, address, message string
		certificate                  bool
	}{
		{"another caller", "dev", apiserver, "Denied a route", true},
		{"an exemption", "breaks-glass", stranger, "Exempted a route", false},
		{"an exemption of another caller", "breaks-glass", apiserver, "Exempted a route", true},
	} {
		askFrom(t, handler, test.address, test.certificate, admission{object: routeOn(onHeadless), user: test.user})
		last := logged[len(logged)-1]
		if last["msg"] != test.message || last["user"] != test.user || last["caller"] != test.address || last["authenticated"] != test.certificate {
			t.Errorf("%s: %v", test.what, last)
		}
	}
	const help = "Findings of the validating webhook by rule, effect (deny, warn, audit, off), why the effect is less severe than the action of the rule " +
		"(update, dry-run, mode, exemption, annotation, mutation), namespace (_other beyond the first 500, and where it does not exist), and whether the caller was " +
		"authenticated by a client certificate."
	want := `
# HELP gammaguard_findings_total ` + help + `
# TYPE gammaguard_findings_total counter
gammaguard_findings_total{authenticated="false",downgraded="exemption",effect="audit",namespace="shop",rule="parent-headless"} 1
gammaguard_findings_total{authenticated="false",downgraded="",effect="deny",namespace="_other",rule="grant-missing"} 505
gammaguard_findings_total{authenticated="true",downgraded="exemption",effect="audit",namespace="shop",rule="parent-headless"} 1
gammaguard_findings_total{authenticated="true",downgraded="",effect="deny",namespace="shop",rule="parent-headless"} 1
`
	if err := testutil.CollectAndCompare(o.Metrics.findings, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestExemptionsAreNamed: findings elsewhere take no label values from those that an
// exemption lowers.
func TestExemptionsAreNamed(t *testing.T) {
	m := options(t, world(t, cluster)).Metrics
	r := &review{}
	for i := range maxNamespaces {
		m.finding(r, fmt.Sprint("n", i), &validate.Finding{Rule: "parent-headless", Effect: validate.Deny})
	}
	m.finding(r, "payments-prod", &validate.Finding{Rule: "parent-headless", Effect: validate.Audit, Downgraded: validate.DowngradedByExemption})
	if got := testutil.ToFloat64(m.findings.WithLabelValues("parent-headless", "audit", "exemption", "payments-prod", "false")); got != 1 {
		t.Errorf("counted %v times", got)
	}
}

// TestFailuresAreBounded: what a caller makes fail is logged within a bound, and does not
// keep denials out of the log.
func TestFailuresAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged lines
		o := logged.options(t)
		o.Live, o.Sync = &source{Reader: o.Reader, fail: fmt.Errorf("unreachable")}, cutOff{}
		handler := Validating(o, newEngine(t, nil))
		for range 2 * trailBurst {
			askFrom(t, handler, stranger, false, admission{object: routeOn(onCart)})
		}
		if len(logged) != trailBurst {
			t.Errorf("%d lines, want %d", len(logged), trailBurst)
		}
		time.Sleep(trailOmitted + time.Second) // of the bubble's clock
		synctest.Wait()
		if last := logged[len(logged)-1]; last["count"] != float64(trailBurst) {
			t.Errorf("in the end: %v", last)
		}
	})
}

// TestLiveReadsAreBounded: all callers together cause a bounded number of live reads, and
// one address half of it. What cannot be confirmed is not denied, but an error, and what
// needs no confirmation is admitted.
func TestLiveReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		o := options(t, world(t, cluster))
		now := &source{Reader: o.Reader}
		o.Live = now
		handler := Validating(o, newEngine(t, nil))
		var outcomes [2]int
		askAll := func(address string, calls int) {
			for range calls {
				response := askFrom(t, handler, address, false, admission{object: in("nobody", onCart)})
				switch {
				case response.Allowed:
					t.Fatal("allowed")
				case response.Result.Code == http.StatusForbidden:
					outcomes[0]++
				case response.Result.Code == http.StatusInternalServerError && strings.Contains(response.Result.Message, errBudget.Error()):
					outcomes[1]++
				default:
					t.Fatalf("%+v", response.Result)
				}
			}
		}
		// Callers that wait for their turn let the clock of the bubble go on: so there are
		// many at once.
		done := make(chan struct{})
		for range 4 * readBurst {
			go func() {
				askFrom(t, handler, stranger, false, admission{object: in("nobody", onCart)})
				done <- struct{}{}
			}()
		}
		for range 4 * readBurst {
			<-done
		}
		if most := readBurst + int(readRate*time.Since(begun).Seconds()) + 1; len(now.reads) > most || len(now.reads) < readBurst {
			t.Errorf("%d reads for one address, want at most %d", len(now.reads), most)
		}
		limited := testutil.ToFloat64(o.Metrics.reads.WithLabelValues("Namespace", "limited"))
		if limited == 0 {
			t.Error("no read is counted as limited")
		}
		askAll(apiserver, 100)
		if outcomes != [2]int{100, 0} {
			t.Errorf("another address: %d denied, %d errors", outcomes[0], outcomes[1])
		}
		if response := askFrom(t, handler, stranger, false, admission{object: routeOn(onCart)}); !response.Allowed {
			t.Errorf("what needs no live read: %+v", response.Result)
		}
		before := len(now.reads)
		budget := newBudget(1, 1)
		o.shared = &shared{newTrail(o.Log), budget}
		handler = Validating(o, newEngine(t, nil))
		budget.all.AllowN(time.Now(), 2)
		budget.share(apiserver).ReserveN(time.Now(), 1)
		budget.share(apiserver).ReserveN(time.Now(), 1)
		outcomes = [2]int{}
		askAll(apiserver, 1)
		if outcomes != [2]int{0, 1} || len(now.reads) != before {
			t.Errorf("beyond the budget: %d denied, %d errors, %d reads", outcomes[0], outcomes[1], len(now.reads)-before)
		}
	})
}

// TestBudgetInAll: many addresses cause no more than all may.
func TestBudgetInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 100)
		allowed := 0
		for i := range 3 * maxAddresses {
			if b.allow(fmt.Sprint(i)) {
				allowed++
			}
		}
		if allowed != 200 || len(b.shares) > maxAddresses {
			t.Errorf("%d allowed, %d addresses are known", allowed, len(b.shares))
		}
	})
}

// TestPreviewsAreBounded: a preview whose turn does not come ends, and long lists count as many
// reads.
func TestPreviewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, begun := newTurn(), time.Now()
		done, err := busy.take(t.Context(), &review{})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if _, err := busy.take(t.Context(), &review{}); err == nil || time.Since(begun) != maxWait {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
	o := options(t, world(t, cluster))
	o.share()
	r := &review{address: stranger}
	if err := o.spend(t.Context(), r, "HTTPRoute", readBurst); err != nil {
		t.Fatal(err)
	}
	o.reads.charge(stranger, maxRoutes/routesPerRead)
	waited := o.shared.reads.share(stranger).ReserveN(time.Now(), readRate).Delay()
	if waited < time.Second/2 {
		t.Errorf("lists have left room: a wait of %s", waited)
	}
}
