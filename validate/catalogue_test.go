package validate

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// The catalogue: IDs, default actions and, where they have one, the milder action
// on a dry run. IDs are for ever.
func TestCatalogue(t *testing.T) {
	type row struct {
		ID              string
		Default, DryRun Action
	}
	want := []row{
		{"backend-external-name", Deny, ""},
		{"backend-group-invalid", Deny, ""},
		{"backend-has-routes", Warn, ""},
		{"backend-missing", Warn, ""},
		{"backend-no-endpoints", Warn, ""},
		{"backend-not-found", Warn, ""},
		{"backend-not-permitted", Off, ""},
		{"backend-port-not-found", Warn, ""},
		{"backend-weights-zero", Warn, ""},
		{"consumer-refused", Deny, ""},
		{"filter-header-duplicate", Warn, ""},
		{"filter-header-restricted", Deny, ""},
		{"filter-header-value", Deny, ""},
		{"grant-missing", Deny, ""},
		{"hostnames-ignored", Warn, ""},
		{"match-regex-invalid", Deny, ""},
		{"match-regex-nonportable", Audit, ""},
		{"match-unreachable", Warn, ""},
		{"mesh-unsupported", Deny, ""},
		{"no-catch-all", Warn, ""},
		{"parent-app-protocol", Warn, ""},
		{"parent-duplicate", Deny, ""},
		{"parent-exposed-type", Audit, ""},
		{"parent-external-name", Deny, ""},
		{"parent-group-invalid", Deny, ""},
		{"parent-headless", Deny, ""},
		{"parent-kind-not-allowed", Deny, ""},
		{"parent-not-found", Deny, Warn},
		{"parent-port-not-found", Deny, ""},
		{"parent-protocol-mismatch", Deny, ""},
		{"parent-service-terminating", Warn, ""},
		{"route-conflict", Warn, ""},
		{"route-overlap", Warn, ""},
	}
	var got []row
	for _, rule := range Catalogue() {
		got = append(got, row{rule.ID, rule.Default, rule.DryRun})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(got, func(a, b row) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the catalogue is not sorted by ID")
	}
}

// The texts are the documentation: each rule has them all, and each says where its
// demand comes from.
func TestCatalogueTexts(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	severity := regexp.MustCompile(`(?i)\b(deny|denied|error|warn|warning|critical|fatal|info)\b`)
	cites := regexp.MustCompile(`^(GEP-\d+|Gateway API)[,:]`)
	for _, rule := range Catalogue() {
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
			if rule.Fault == NoFault && rule.Parent == nil && rule.Backend == nil && rule.Route == nil {
				t.Error("no check")
			}
			if (rule.Fault == NoFault) != (rule.Describe == nil) {
				t.Error("a fault without words for it, or words without a fault")
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

func TestActions(t *testing.T) {
	want := []Action{Deny, Warn, Audit, Off} // the strictest first: lowering relies on it
	if diff := cmp.Diff(want, Actions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}
