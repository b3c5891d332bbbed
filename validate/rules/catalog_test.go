package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// The catalog: IDs, default actions and, where they have one, the milder action
// on a dry run. IDs are for ever.
func TestCatalog(t *testing.T) {
	type row struct {
		ID              string
		Default, DryRun validate.Action
	}
	want := []row{
		{"backend-external", validate.Audit, ""},
		{"backend-external-name", validate.Deny, ""},
		{"backend-group-invalid", validate.Deny, ""},
		{"backend-has-routes", validate.Warn, ""},
		{"backend-missing", validate.Warn, ""},
		{"backend-no-endpoints", validate.Warn, ""},
		{"backend-not-found", validate.Warn, ""},
		{"backend-not-permitted", validate.Off, ""},
		{"backend-port-not-found", validate.Warn, ""},
		{"backend-weights-zero", validate.Warn, ""},
		{"consumer-refused", validate.Deny, ""},
		{"filter-header-duplicate", validate.Warn, ""},
		{"filter-header-restricted", validate.Deny, ""},
		{"filter-header-value", validate.Deny, ""},
		{"grant-missing", validate.Deny, ""},
		{"hostnames-ignored", validate.Warn, ""},
		{"match-regex-invalid", validate.Deny, ""},
		{"match-regex-nonportable", validate.Audit, ""},
		{"match-unreachable", validate.Warn, ""},
		{"mesh-unsupported", validate.Deny, ""},
		{"no-catch-all", validate.Warn, ""},
		{"parent-app-protocol", validate.Warn, ""},
		{"parent-duplicate", validate.Deny, ""},
		{"parent-exposed-type", validate.Audit, ""},
		{"parent-external-name", validate.Deny, ""},
		{"parent-group-invalid", validate.Deny, ""},
		{"parent-headless", validate.Deny, ""},
		{"parent-kind-not-allowed", validate.Deny, ""},
		{"parent-not-found", validate.Deny, validate.Warn},
		{"parent-port-not-found", validate.Deny, ""},
		{"parent-protocol-mismatch", validate.Deny, ""},
		{"parent-service-terminating", validate.Warn, ""},
		{"producer-routes-replaced", validate.Warn, ""},
		{"route-conflict", validate.Warn, ""},
		{"route-overlap", validate.Warn, ""},
		{"service-becomes-external-name", validate.Warn, ""},
		{"service-not-enrolled", validate.Warn, ""},
		{"service-overridden", validate.Warn, ""},
	}
	var got []row
	for _, rule := range Catalog() {
		got = append(got, row{rule.ID, rule.Default, rule.DryRun})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(got, func(a, b row) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the catalog is not sorted by ID")
	}
}

// The texts are the documentation: each rule has them all, and each says where its
// demand comes from.
func TestCatalogTexts(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	severity := regexp.MustCompile(`(?i)\b(deny|denied|error|warn|warning|critical|fatal|info)\b`)
	cites := regexp.MustCompile(`^(GEP-\d+|Gateway API)[,:]`)
	for _, rule := range Catalog() {
		t.Run(rule.ID, func(t *testing.T) {
			if !id.MatchString(rule.ID) || severity.MatchString(rule.ID) {
				t.Errorf("ID %q is not in kebab case, or carries a severity", rule.ID)
			}
			if rule.Title == "" || len(rule.Title) > 100 || strings.HasSuffix(rule.Title, ".") {
				t.Errorf("title %q: want one line of at most 100 characters without a full stop", rule.Title)
			}
			for name, text := range map[string]string{"rationale": rule.Rationale, "remedy": rule.Remedy} {
				if !strings.HasSuffix(text, ".") || len(text) < 20 {
					t.Errorf("%s %q is not a sentence", name, text)
				}
			}
			for name, text := range map[string]string{"title": rule.Title, "rationale": rule.Rationale, "remedy": rule.Remedy, "citation": rule.Citation} {
				if strings.ContainsAny(text, "\n\t") || strings.Contains(text, "  ") || text != strings.TrimSpace(text) {
					t.Errorf("%s %q has blanks out of place", name, text)
				}
			}
			if !cites.MatchString(rule.Citation) {
				t.Errorf("citation %q names neither a GEP nor the Gateway API", rule.Citation)
			}
			if rule.Fault == validate.NoFault && rule.Parent == nil && rule.Backend == nil && rule.Route == nil && !rule.OfServices {
				t.Error("no check")
			}
			named := rule.ID == validate.RuleParentGroupInvalid || rule.ID == validate.RuleMeshUnsupported
			if (rule.Fault == validate.NoFault && !named) != (rule.Describe == nil) {
				t.Error("nothing describes what the engine asks the rule about, or is never asked")
			}
			for _, kind := range rule.Kinds {
				if !mesh.IsRouteKind(string(kind)) {
					t.Errorf("%q is no kind of route", kind)
				}
			}
			if Find(rule.ID) == nil || Find(rule.ID).ID != rule.ID {
				t.Error("Find does not find it")
			}
		})
	}
	if rule := Find("parent-headles"); rule != nil {
		t.Errorf("Find found %v for an ID that does not exist", rule.ID)
	}
}

// Each rule has its file, and its test in a file beside it.
func TestFiles(t *testing.T) {
	for _, rule := range Catalog() {
		words := strings.Split(rule.ID, "-")
		file, name := strings.Join(words, "_"), ""
		for _, word := range words {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		for path, want := range map[string]string{
			file + ".go":      "func " + strings.ToLower(name[:1]) + name[1:] + "() *validate.Rule {",
			file + "_test.go": "func Test" + name + "(t *testing.T) {",
		} {
			if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q: %v", path, want, err)
			}
		}
	}
}
