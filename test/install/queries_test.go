package install

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

// auditLogPage returns docs/audit-log.md.
func auditLogPage(t *testing.T) string {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "audit-log.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// queries runs the queries of docs/audit-log.md on the audit log of the adoption.
func (a *adoption) queries(t *testing.T) {
	page := auditLogPage(t)
	// What each finds, in the order of the page.
	wants := []string{
		`^20\d\d-\S+\tadmin\tcreate\tfaces/refused\tspec.parentRefs\[0\]: namespace closed refuses consumer routes`,
		`^admin\tshop/headless\tspec.parentRefs\[0\].name: would be denied: Service shop/bare is headless`,
		`^admin\tshop/group\tparent-group spec.parentRefs\[0\].group`,
		`^parent-headless$`,
		"", // the adoption has no exemption: TestExemptionQuery of webhook has one
		`^admin\tshop/group\tparent-group spec.parentRefs\[0\].group$`,
		`^20\d\d-\S+\tadmin\tshop\tgammaguard.dev/grant\tproducer$`,
		"", // nobody did: TestGrantQueries has who does
	}
	found := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindAllStringSubmatch(page, -1)
	if len(found) != len(wants) {
		t.Fatalf("docs/audit-log.md has %d queries, want %d", len(found), len(wants))
	}
	for i, query := range found {
		log, err := os.Open(plane.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		lines := runQuery(t, query[1], log)
		_ = log.Close() // it was only read
		if want := wants[i]; want == "" && len(lines) > 0 || want != "" && !slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("%s: want %q in %q", query[1], want, lines)
		}
	}
}

// TestGrantQueries: who changed what decides on grants, in each way of kubectl, and who was refused.
func TestGrantQueries(t *testing.T) {
	page := auditLogPage(t)
	_, text, _ := strings.Cut(page, "## Who gave or took a grant")
	queries := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindAllStringSubmatch(text, -1)
	const shop = `"objectRef": {"resource": "namespaces", "name": "shop"}, "user": {"username": "admin"}, "requestReceivedTimestamp": "now", "requestURI": "/api/v1/namespaces/shop`
	for _, test := range []struct {
		event string
		want  [2][]string
	}{
		{`{"verb": "patch", ` + shop + `", "impersonatedUser": {"username": "ann"}, "responseStatus": {"code": 200}, "requestObject": {"metadata": {"labels": {"a": "b", "gammaguard.dev/grant": null}, "annotations": {"gammaguard.dev/grant-route-kinds": "GRPCRoute"}}}}`, [2][]string{{"now\tann\tshop\tgammaguard.dev/grant\tremoved", "now\tann\tshop\tgammaguard.dev/grant-route-kinds\tGRPCRoute"}}},
		{`{"verb": "patch", ` + shop + `", "responseStatus": {"code": 200}, "requestObject": [{"op": "remove", "path": "/metadata/labels/gammaguard.dev~1grant"}, {"op": "add", "path": "/metadata/labels/a", "value": "b"}]}`, [2][]string{{"now\tadmin\tshop\t/metadata/labels/gammaguard.dev~1grant\tremoved"}}},
		{`{"verb": "delete", ` + shop + `", "responseStatus": {"code": 200}}`, [2][]string{{"now\tadmin\tshop\tnamespace\tdeleted"}}},
		{`{"verb": "update", ` + shop + `", "responseStatus": {"code": 200}, "requestObject": {"metadata": {"labels": {"gammaguard.dev/mode": "warn"}}}}`, [2][]string{{"now\tadmin\tshop\tgammaguard.dev/mode\twarn"}}},
		{`{"verb": "patch", ` + shop + `?dryRun=All", "responseStatus": {"code": 200}, "requestObject": {"metadata": {"labels": {"gammaguard.dev/mode": "warn"}}}}`, [2][]string{}},
		{`{"verb": "patch", ` + shop + `", "responseStatus": {"code": 403, "message": "no"}, "requestObject": {"metadata": {"labels": {"gammaguard.dev/mode": "warn"}}}}`, [2][]string{nil, {"now\tadmin\tpatch\tshop\tno"}}},
		{`{"verb": "create", "objectRef": {"resource": "httproutes"}, "responseStatus": {"code": 403}}`, [2][]string{}},
	} {
		for i, query := range queries {
			if got := runQuery(t, query[1], strings.NewReader(test.event)); !slices.Equal(got, test.want[i]) {
				t.Errorf("%s: query %d: want %q, got %q", test.event, i, test.want[i], got)
			}
		}
	}
}

// TestAuditPolicy: the policy of docs/audit-log.md logs what becomes of routes, once.
func TestAuditPolicy(t *testing.T) {
	page := auditLogPage(t)
	_, text, _ := strings.Cut(page, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	loaded, err := policy.LoadPolicyFromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.NewPolicyRuleEvaluator(loaded)
	for resource, want := range map[string]audit.Level{"httproutes": audit.LevelMetadata, "pods": audit.LevelNone, "namespaces": audit.LevelRequest} {
		request := &authorizer.AttributesRecord{Verb: "create", APIGroup: map[string]string{"httproutes": gatewayv1.GroupName}[resource], Resource: resource, ResourceRequest: true}
		got := rules.EvaluatePolicyRule(request)
		if got.Level != want || !slices.Equal(got.OmitStages, []audit.Stage{audit.StageRequestReceived}) {
			t.Errorf("%s: %+v", resource, got)
		}
	}
}

// runQuery runs a query of jq on each JSON value, and returns the strings that it gives.
func runQuery(t *testing.T, text string, values io.Reader) []string {
	t.Helper()
	query, err := gojq.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var found []string
	for decoder := json.NewDecoder(values); ; {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		results := query.Run(value)
		for result, more := results.Next(); more; result, more = results.Next() {
			line, ok := result.(string)
			if !ok {
				t.Fatalf("%s: %v", text, result)
			}
			found = append(found, line)
		}
	}
}
