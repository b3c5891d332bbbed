package webhook

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// lines is a log that a test reads.
type lines []map[string]any

func (l *lines) options(t *testing.T) Options {
	t.Helper()
	o := options(t, world(t, cluster))
	o.Log = funcr.NewJSON(func(line string) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Error(err)
		}
		delete(fields, "logger")
		delete(fields, "level")
		*l = append(*l, fields)
	}, funcr.Options{})
	return o
}

// TestTrail: a line for each request that is denied, or would be, which holds nothing of
// the object but its name.
func TestTrail(t *testing.T) {
	var logged lines
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Exemptions: validate.Exemptions{Usernames: []string{"breaks-glass"}}})
	if err != nil {
		t.Fatal(err)
	}
	handler := Validating(logged.options(t), engine)
	const headless, missing = `{group: "", kind: Service, name: headless}`, `{group: "", kind: Service, name: missing}`
	for _, request := range []admission{
		{object: routeOn(onCart)},
		{object: strings.Replace(routeOn(onCart), "spec: {", "spec: {hostnames: [example.com], ", 1)},
		{object: routeOn(headless + ", " + missing)},
		{object: routeOn(missing), dryRun: true},
		{object: routeOn(headless), operation: "UPDATE", old: routeOn(`{name: gateway}, ` + headless)},
		{object: routeOn(headless), user: "breaks-glass"},
	} {
		ask(t, handler, request)
	}
	line := func(message, user, operation, downgraded string, dryRun bool, rules ...any) map[string]any {
		return map[string]any{
			"msg": message, "user": user, "operation": operation, "kind": "HTTPRoute", "namespace": "shop", "name": "web",
			"rules": rules, "downgraded": downgraded, "dryRun": dryRun, "caller": "192.0.2.1", "authenticated": false,
		}
	}
	want := lines{
		line("Denied a route", "dev", "CREATE", "", false, "parent-headless", "parent-not-found"),
		line("Downgraded a denial", "dev", "CREATE", "dry-run", true, "parent-not-found"),
		line("Downgraded a denial", "dev", "UPDATE", "update", false, "parent-headless"),
		line("Exempted a route", "breaks-glass", "CREATE", "exemption", false, "parent-headless"),
	}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTrailIsBounded: beyond its rate the trail counts what it leaves out, and says so.
func TestTrailIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged lines
		handler := Validating(logged.options(t), newEngine(t, nil))
		request := admission{object: routeOn(`{group: "", kind: Service, name: headless}`)}
		for range trailBurst + 7 {
			ask(t, handler, request)
		}
		time.Sleep(trailOmitted + time.Second) // of the bubble's clock
		synctest.Wait()
		if len(logged) != trailBurst+1 || logged[trailBurst]["count"] != 7.0 {
			t.Fatalf("%d lines, the last one is %v", len(logged), logged[len(logged)-1])
		}
		ask(t, handler, request)
		if last := logged[len(logged)-1]; last["msg"] != "Denied a route" {
			t.Errorf("later: %v", last)
		}
	})
}

// TestMessagesAnnotation: the audit log has the messages of what denies, or would.
func TestMessagesAnnotation(t *testing.T) {
	handler := Validating(options(t, world(t, cluster)), newEngine(t, nil))
	object := strings.Replace(routeOn(`{group: "", kind: Service, name: headless}`), "spec: {", "spec: {hostnames: [example.com], ", 1)
	got := ask(t, handler, admission{object: object}).AuditAnnotations["messages"]
	if !strings.HasPrefix(got, "spec.parentRefs[0].name: ") || !strings.HasSuffix(got, " (parent-headless)") || strings.Contains(got, "\n") {
		t.Errorf("messages: %q, want that of parent-headless alone", got)
	}
	if got, some := ask(t, handler, admission{object: routeOn(onCart)}).AuditAnnotations["messages"]; some {
		t.Errorf("admitted: %q", got)
	}
}

// TestExemptionQuery: the query of docs/audit-log.md finds the requests that an exemption let
// through, and no others. test/install runs the other queries.
func TestExemptionQuery(t *testing.T) {
	page, err := os.ReadFile("../docs/audit-log.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Which routes an exemption let through\n")
	_, text, _ = strings.Cut(text, "jq -r '")
	text, _, _ = strings.Cut(text, "' audit.log\n")
	query, err := gojq.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Exemptions: validate.Exemptions{Usernames: []string{"breaks-glass"}}})
	if err != nil {
		t.Fatal(err)
	}
	handler := Validating(options(t, world(t, cluster)), engine)
	for user, want := range map[string][]any{"breaks-glass": {"breaks-glass\tshop/web"}, "dev": nil} {
		answer := ask(t, handler, admission{object: routeOn(`{group: "", kind: Service, name: headless}`), user: user})
		annotations := map[string]any{}
		for name, value := range answer.AuditAnnotations {
			annotations["validate.gammaguard.dev/"+name] = value
		}
		var found []any
		for _, request := range []string{"", "?dryRun=All"} {
			results := query.Run(map[string]any{
				"user": map[string]any{"username": user}, "objectRef": map[string]any{"namespace": "shop", "name": "web"}, "annotations": annotations,
				"requestURI": "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes" + request,
			})
			for result, more := results.Next(); more; result, more = results.Next() {
				found = append(found, result)
			}
		}
		if diff := cmp.Diff(want, found); diff != "" || len(annotations) == 0 {
			t.Errorf("%s: %v (-want +found)\n%s", user, annotations, diff)
		}
	}
}

// TestNamespacesAreBounded: whatever namespaces callers name, the metrics have a bounded
// number of them.
func TestNamespacesAreBounded(t *testing.T) {
	o := options(t, world(t, cluster))
	names := map[string]bool{}
	for i := range 2 * maxNamespaces {
		names[o.Metrics.namespace(o.Metrics.named, "n"+string(rune('a'+i%26))+strings.Repeat("x", i/26))] = true
	}
	if len(names) != maxNamespaces+1 || !names[otherNamespaces] {
		t.Errorf("%d names", len(names))
	}
	if got := o.Metrics.namespace(o.Metrics.named, "Not a name"); got != otherNamespaces {
		t.Errorf("%q", got)
	}
}
