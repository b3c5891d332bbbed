package mutate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mutate"
)

func TestCatalog(t *testing.T) {
	want := []string{"backend-group", "backend-port", "parent-group", "parent-kind", "parent-port", "parent-section"}
	if diff := cmp.Diff(want, mutate.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var readers []string
	for _, m := range mutate.Catalog() {
		if !slices.Contains(want, m.ID) {
			t.Errorf("%s is in the catalog but has no name", m.ID)
		}
		for what, text := range map[string]string{"title": m.Title, "rationale": m.Rationale, "citation": m.Citation} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s has no %s", m.ID, what)
			}
		}
		if m.ReadsServices {
			readers = append(readers, m.ID)
		}
	}
	if diff := cmp.Diff([]string{"backend-port", "parent-port", "parent-section"}, readers); diff != "" {
		t.Errorf("those that read (-want +got):\n%s", diff)
	}
}
