package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/validate"
)

// TestBoundedWarnings has a route with more to warn of than fits.
func TestBoundedWarnings(t *testing.T) {
	long := strings.Repeat("ä", 200)
	var refs []string
	for i := range 32 {
		refs = append(refs, fmt.Sprintf(`{group: "", kind: Service, name: "missing-%02d-%s"}`, i, long))
	}
	handler := Validating(options(t, world(t, cluster)), newEngine(t, map[string]validate.Action{"parent-not-found": validate.Warn}))
	response := ask(t, handler, admission{object: routeOn(strings.Join(refs, ", "))})
	size := 0
	for i, text := range response.Warnings {
		size += len(text)
		if n := len([]rune(text)); n > 256 {
			t.Errorf("warning %d has %d characters", i, n)
		}
	}
	if size > 4096 {
		t.Errorf("all warnings have %d bytes", size)
	}
	last := len(response.Warnings) - 1
	var more int
	if _, err := fmt.Sscanf(response.Warnings[last], "and %d more warnings", &more); err != nil || more+last != 32 {
		t.Errorf("%d warnings and then %q, want 32 in all", last, response.Warnings[last])
	}
	for _, text := range response.Warnings[:last] {
		if !strings.HasSuffix(text, " (parent-not-found)") {
			t.Errorf("warning without its rule: %s", text)
		}
	}
}

func TestWarning(t *testing.T) {
	for _, test := range []struct{ name, text, rule, want string }{
		{"short", "field: wrong (rule)", "rule", "field: wrong (rule)"},
		{"long", strings.Repeat("x", 300) + " (rule)", "rule", strings.Repeat("x", 246) + "... (rule)"},
		{"long without a rule", strings.Repeat("é", 257), "", strings.Repeat("é", 253) + "..."},
		{"just fits", strings.Repeat("é", 249) + " (rule)", "rule", strings.Repeat("é", 249) + " (rule)"},
		{"in a word", strings.Repeat("word ", 60) + "(rule)", "rule", strings.Repeat("word ", 48) + "word... (rule)"},
		{"after the fix", "field: wrong; fix it; " + strings.Repeat("x", 300) + " (rule)", "rule", "field: wrong; fix it (rule)"},
		{"lines", "a\nb\r\tc", "", `a\nb\r\tc`},
	} {
		if got := warning(test.text, test.rule); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestUnknownIgnores(t *testing.T) {
	handler := Validating(options(t, world(t, cluster)), newEngine(t, nil))
	object := strings.Replace(routeOn(onCart), "uid: u1", `uid: u1, annotations: {gammaguard.dev/ignore: "no-such, parent-headless, no-catch-all"}`, 1)
	response := ask(t, handler, admission{object: object})
	want := []string{
		`metadata.annotations[gammaguard.dev/ignore]: "no-such" is not a rule; use the ID at the end of a warning (ignore-annotation)`,
		`metadata.annotations[gammaguard.dev/ignore]: "parent-headless" denies, so a route cannot ignore it; correct the route, and remove the ID (ignore-annotation)`,
	}
	if diff := cmp.Diff(want, response.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIneffectiveKeys: what a route has of gammaguard's domain and without effect is a warning when it comes, and only on mesh routes.
func TestIneffectiveKeys(t *testing.T) {
	handler := Validating(options(t, world(t, cluster)), newEngine(t, nil))
	keyed := func(route string) string {
		return strings.Replace(route, "uid: u1", `uid: u1, labels: {gammaguard.dev/ignore: no-catch-all}, annotations: {gammaguard.dev/ignroe: no-catch-all}`, 1)
	}
	gateway := routeOn(`{name: gateway}`)
	for name, test := range map[string]struct {
		ask  admission
		want []string
	}{
		"created": {admission{object: keyed(routeOn(onCart))}, []string{
			"the label gammaguard.dev/ignore has no effect here; did you mean the annotation gammaguard.dev/ignore?",
			"the annotation gammaguard.dev/ignroe has no effect here; did you mean the annotation gammaguard.dev/ignore?",
		}},
		"had before":   {admission{operation: "UPDATE", object: keyed(routeOn(onCart)), old: keyed(routeOn(onCart))}, nil},
		"on a Gateway": {admission{object: keyed(gateway)}, nil},
	} {
		if diff := cmp.Diff(test.want, ask(t, handler, test.ask).Warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
