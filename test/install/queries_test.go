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

	"github.com/gammaguard/gammaguard/test/background"
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
		`^20\d\d-\S+\tadmin\tshop\tgammaguard.dev/grant: producer$`,
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
	install(t, folder(t, "policy/labels"))
	_, text, _ := strings.Cut(auditLogPage(t), "## Who gave or took a grant")
	queries := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindAllStringSubmatch(text, -1)
	const name = "taken-and-given"
	manifest := func(labels string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + ", labels: {team: a" + labels + "}}}"
	}
	background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
		if _, _, err := plane.Kubectl(t.Context(), manifest(", gammaguard.dev/grant: some"), "create", "--dry-run=server", "-f", "-"); err == nil {
			return "the policy does not hold yet"
		}
		return ""
	})
	run := func(stdin string, args ...string) []string {
		if len(args) > 0 && args[0] != "patch" && stdin != "" {
			args = append(args, "-f", "-")
		}
		before, err := os.Stat(plane.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		if _, stderr, err := plane.Kubectl(t.Context(), stdin, args...); (err != nil) != slices.Contains(args, "jane") {
			t.Fatalf("%q: %v: %s", args, err, stderr)
		}
		log, err := os.Open(plane.AuditLog)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close() //nolint:errcheck // it was only read
		var rows []string
		for _, query := range queries {
			if _, err := log.Seek(before.Size(), io.SeekStart); err != nil {
				t.Fatal(err)
			}
			for _, row := range runQuery(t, query[1], log) {
				if _, rest, _ := strings.Cut(row, "\t"); strings.Contains(row, name) || strings.Contains(row, "jane") {
					rows = append(rows, rest)
				}
			}
		}
		return rows
	}
	row := func(rest string) []string { return []string{"admin\t" + name + "\t" + rest} }
	const produces, removed = "gammaguard.dev/grant: producer", "gammaguard.dev/grant: removed"
	for _, test := range []struct {
		stdin string
		args  string
		want  []string
	}{
		{manifest(", " + produces), "create", row(produces)},
		{manifest(""), "replace", row(removed)},
		{manifest(", " + produces), "apply --server-side --force-conflicts", row(produces)},
		{manifest(", " + produces), "apply --server-side --force-conflicts", nil},
		{manifest(""), "apply --server-side --force-conflicts", row(removed)},
		{"", "label namespace " + name + " gammaguard.dev/grant=all gammaguard.dev/mode=warn", row("gammaguard.dev/grant: all, gammaguard.dev/mode: warn")},
		{"", "label namespace " + name + " gammaguard.dev/grant=none --overwrite --dry-run=server", nil},
		{"", "label namespace " + name + " team=b --overwrite", nil},
		{"", `patch namespace ` + name + ` --type=json -p [{"op":"remove","path":"/metadata/labels/gammaguard.dev~1grant"}]`, row(removed)},
		{"", "annotate namespace " + name + " gammaguard.dev/grant-route-kinds=GRPCRoute --as ann --as-group system:masters", []string{"ann\t" + name + "\tgammaguard.dev/grant-route-kinds: GRPCRoute"}},
		{manifest(", " + produces), "create --as jane", []string{"jane\tcreate\t"}},
		{"", "delete namespace " + name + " --wait=false", row("the namespace was deleted")},
	} {
		got := run(test.stdin, strings.Fields(test.args)...)
		if same := slices.EqualFunc(got, test.want, strings.HasPrefix); !same {
			t.Errorf("%s: want %q, got %q", test.args, test.want, got)
		}
	}
}

// TestPolicyDenialQuery: who was denied by the policies on grants, which gammaguard never sees.
func TestPolicyDenialQuery(t *testing.T) {
	t.Cleanup(func() { removeGrantPolicies(t) })
	kubectl(t, "apply", "-f", filepath.Join("..", "..", "config", "policy", "route_grants.yaml"))
	kubectl(t, "create", "namespace", "ungranted") // no controller ends it
	query := regexp.MustCompile(`(?m)^jq -r '([^']+)' audit.log`).FindStringSubmatch(auditLogPage(t))
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: ungranted, name: mock}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}]}}`
	background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
		if _, _, err := plane.Kubectl(t.Context(), route, "create", "--dry-run=server", "-f", "-"); err == nil {
			return "the policy does not hold yet"
		}
		return ""
	})
	log, err := os.Open(plane.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // it was only read
	want := regexp.MustCompile(`^20\d\d-\S+\tadmin\tcreate\tungranted/(?:mock)?\t.*'gammaguard-route-grants'.* denied request: .*namespace ungranted lacks the producer grant`)
	if lines := runQuery(t, query[1], log); !slices.ContainsFunc(lines, want.MatchString) {
		t.Errorf("want %q in %q", want, lines)
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
	for resource, want := range map[string]audit.Level{"httproutes": audit.LevelMetadata, "pods": audit.LevelNone, "namespaces": audit.LevelMetadata} {
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
