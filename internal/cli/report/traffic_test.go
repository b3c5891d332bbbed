package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// TestCommentIsBounded: a comment on a pull request is no longer than it may be. What there is no room for is left out and counted:
// first changes, then notes, then findings, and denials last. No table is without rows.
func TestCommentIsBounded(t *testing.T) {
	for _, test := range []struct {
		name                                   string
		services, changes, notes, warns, denys int
		all                                    []string // what is kept as a whole
	}{
		{"all", 2, 2, 2, 2, 2, []string{"any change`", "> `note ", "| warn |", "| deny |"}},
		{"changes", 500, 3, 4, 3, 2, []string{"> `note ", "| warn |", "| deny |"}},
		{"changes of one Service", 1, 2000, 4, 3, 2, []string{"> `note ", "| warn |", "| deny |"}},
		{"notes", 500, 3, 2000, 3, 2, []string{"| warn |", "| deny |"}},
		{"warnings", 500, 3, 4, 2000, 2, []string{"| deny |"}},
		{"denials", 500, 3, 4, 3, 2000, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &Diff{Difference: &traffic.Difference{}, NewFindings: New()}
			for i := range test.services {
				port := traffic.PortDifference{Service: fmt.Sprintf("Service shop/s%d", i), Namespace: "shop", Port: 80, Protocol: "TCP"}
				for range test.changes {
					port.Changes = append(port.Changes, traffic.Change{Class: traffic.Class{Where: "change"}})
				}
				d.Ports = append(d.Ports, port)
			}
			for i := range test.notes {
				d.Notes = append(d.Notes, fmt.Sprint("note ", i, strings.Repeat("a|", 50)))
			}
			for i := range test.warns + test.denys {
				effect := validate.Warn
				if i >= test.warns {
					effect = validate.Deny
				}
				d.NewFindings.AddRoute(&Route{RouteName: RouteName{Name: fmt.Sprint(i)}, Findings: []Finding{{Effect: effect, Message: fmt.Sprint(effect, " ", i, strings.Repeat("a|", 50))}}})
			}
			d.NewFindings.Count()
			var out bytes.Buffer
			if err := d.Markdown(&out); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			want := map[string]int{"any change`": test.services * test.changes, "> `note ": test.notes, "| warn |": test.warns, "| deny |": test.denys}
			left := 0
			for word, n := range want {
				kept := strings.Count(text, word)
				if left += n - kept; kept > n || kept < n && slices.Contains(test.all, word) {
					t.Errorf("%d of %d lines have %s", kept, n, word)
				}
			}
			said := 0
			if i := strings.Index(text, "\n\n**"); i >= 0 {
				_, _ = fmt.Sscanf(text[i:], "\n\n**%d lines are left out**", &said)
			}
			if len(text) > maxComment || len(text) < 60_000 && left > 0 || left != said || !strings.HasSuffix(text, "\n") {
				t.Errorf("%d bytes, %d lines left out: %s", len(text), left, text[max(0, len(text)-300):])
			}
			if head, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(head, fmt.Sprintf("; new on %d routes: %d denials, %d warnings**", test.warns+test.denys, test.denys, test.warns)) {
				t.Errorf("the first line is %s", head)
			}
			if warn := strings.Index(text, "| warn |"); warn >= 0 && strings.LastIndex(text, "| deny |") > warn {
				t.Error("a warning stands above a denial")
			}
			if rows := strings.Split(text, "|---|\n"); slices.ContainsFunc(rows[1:], func(below string) bool { return !strings.HasPrefix(below, "| ") }) {
				t.Error("a table has no rows")
			}
		})
	}
}

// TestDiffListsAlikeOnce: of what is found in the same words on several routes, one line says how many there are.
func TestDiffListsAlikeOnce(t *testing.T) {
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: New()}
	for i, message := range []string{"rejected", "rejected", "lost", "rejected"} {
		d.NewFindings.AddRoute(&Route{RouteName: RouteName{Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprint(i)}, Place: Place{"a.yaml", i}, Findings: []Finding{{Effect: "warn", Line: i, Message: message}}})
	}
	var text, markdown bytes.Buffer
	for _, err := range []error{d.Text(&text, false), d.Markdown(&markdown)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, out := range []string{text.String(), markdown.String()} {
		if strings.Count(out, "rejected") != 1 || !strings.Contains(out, "HTTPRoute shop/0 and 2 more routes (a.yaml:1, a.yaml:3)") || !strings.Contains(out, "lost") {
			t.Error(out)
		}
	}
	if found := len(d.NewFindings.Items()); found != 4 {
		t.Errorf("other forms have %d, want 4", found)
	}
}

// TestDiffListsDuplicates: an object that is declared once more than in the base is listed, also if there are no other findings.
func TestDiffListsDuplicates(t *testing.T) {
	before, after := New(), New()
	for i, object := range []string{"Service shop/old", "Service shop/new"} {
		duplicate := Duplicate{Place: Place{"a.yaml", 9 + i}, Object: object, First: Place{"a.yaml", 1 + i}}
		if after.AddDuplicate(duplicate); i == 0 {
			duplicate.File = "b.yaml"
			before.AddDuplicate(duplicate)
		}
	}
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: after.Since(before, nil)}
	var text, markdown bytes.Buffer
	if err := errors.Join(d.Text(&text, false), d.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), markdown.String()} {
		if strings.Count(out, "is declared at") != 1 || !strings.Contains(out, "Service shop/new") || !strings.Contains(out, "new on 1 duplicate object: 1 warning") {
			t.Error(out)
		}
	}
}

// TestDiffListsPlacesOfOneRoute: what is found at two places of one route, as in two renderings of a chart, is no other route.
func TestDiffListsPlacesOfOneRoute(t *testing.T) {
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: New()}
	for i := range 2 {
		d.NewFindings.AddRoute(&Route{RouteName: RouteName{Kind: "HTTPRoute", Namespace: "shop", Name: "r"}, Place: Place{"a.yaml", 1}, Findings: []Finding{{Effect: "warn", Line: 19 + i, Message: "lost"}}})
	}
	var text bytes.Buffer
	if err := d.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	if out := text.String(); strings.Contains(out, "more route") || !strings.Contains(out, " 19  warn") || !strings.Contains(out, " 20  warn") {
		t.Error(out)
	}
}

// TestDiffCountsNewFindings: the last line is of the routes that have new findings, and not of the files that were read. What a
// mutation does not set is no finding of a rule, new or not; what one sets is listed where the base does not have it the same.
func TestDiffCountsNewFindings(t *testing.T) {
	after := New()
	for i := range 3 {
		after.SeenFile(fmt.Sprint(i, ".yaml"))
		found := []Finding{{Rule: "old", Effect: "warn", Message: "old"}}
		if i == 0 {
			found = append(found, Finding{Rule: "a", Effect: "warn", Message: "a"}, Finding{Rule: "b", Effect: "deny", Message: "b"})
		}
		after.AddRoute(&Route{
			RouteName: RouteName{Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprint(i)}, Place: Place{fmt.Sprint(i, ".yaml"), 1}, Findings: found, Withheld: []Change{{Effect: "warn", Message: "withheld"}},
			Changes: []Change{{Field: "old", Value: i, Message: "as before"}},
		})
	}
	after.Routes[0].Changes = append(after.Routes[0].Changes, Change{Field: "new", Value: 1, Message: "made"})
	before := New()
	for i := range after.Routes {
		route := after.Routes[i]
		route.Findings, route.Changes = route.Findings[:1], route.Changes[:1]
		before.AddRoute(&route)
	}
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: after.Since(before, nil)}
	var text, markdown bytes.Buffer
	if err := errors.Join(d.Text(&text, false), d.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text.String(), "\n\nnew on 1 route: 1 denial, 1 warning, 1 change\n") || strings.Contains(text.String(), "withheld") || strings.Contains(text.String(), "as before") {
		t.Error(text.String())
	}
	if rows := strings.Count(markdown.String(), "HTTPRoute shop/0"); rows != 3 || strings.Contains(markdown.String(), "withheld") {
		t.Error(markdown.String())
	}
}
