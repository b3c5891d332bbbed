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

// queries runs the queries of docs/audit-log.md on the audit log of the adoption.
func (a *adoption) queries(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(a.root, "docs", "audit-log.md"))
	if err != nil {
		t.Fatal(err)
	}
	// What each finds, in the order of the page.
	wants := []string{
		`^20\d\d-\S+\tadmin\tcreate\tfaces/refused\tspec.parentRefs\[0\]: namespace closed refuses consumer routes`,
		`^admin\tshop/headless\tspec.parentRefs\[0\].name: would be denied: Service shop/bare is headless`,
		`^admin\tshop/group\tparent-group spec.parentRefs\[0\].group`,
		`^parent-headless$`,
		"", // the adoption has no exemption: TestExemptionQuery of webhook has one
		`^admin\tshop/group\tparent-group spec.parentRefs\[0\].group$`,
		`^20\d\d-\S+\tadmin\tshop\tgammaguard.dev/grant\tproducer$`,
	}
	found := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindAllSubmatch(page, -1)
	if len(found) != len(wants) {
		t.Fatalf("docs/audit-log.md has %d queries, want %d", len(found), len(wants))
	}
	for i, query := range found {
		log, err := os.Open(plane.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		lines := runQuery(t, string(query[1]), log)
		_ = log.Close() // it was only read
		if want := wants[i]; want == "" && len(lines) > 0 || want != "" && !slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("%s: want %q in %q", query[1], want, lines)
		}
	}
}

// TestAuditPolicy: the policy of docs/audit-log.md logs what becomes of routes, once.
func TestAuditPolicy(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "audit-log.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
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
