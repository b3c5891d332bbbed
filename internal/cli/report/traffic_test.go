package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/traffic"
)

// TestCommentIsBounded: a comment on a pull request is no longer than it may be, and says what it leaves out.
func TestCommentIsBounded(t *testing.T) {
	for _, n := range []int{1, 2000} {
		d := &Diff{Difference: &traffic.Difference{}, NewFindings: New()}
		for i := range n {
			d.NewFindings.AddRoute(&Route{RouteName: RouteName{Name: fmt.Sprint(i)}, Findings: []Finding{{Message: fmt.Sprint(i) + strings.Repeat("a|", 50)}}})
		}
		var out bytes.Buffer
		if err := d.Markdown(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		rows := strings.Count(text, "` |\n")
		left := 0
		if i := strings.Index(text, "\n\n**"); i >= 0 {
			_, _ = fmt.Sscanf(text[i:], "\n\n**%d lines are left out**", &left)
		}
		if len(text) > maxComment || rows+left != n || (left > 0) != (n > 1) || !strings.HasSuffix(text, "\n") {
			t.Errorf("%d findings: %d bytes, %d rows, %d left out: %s", n, len(text), rows, left, text[max(0, len(text)-300):])
		}
	}
}

// TestDiffListsAlikeOnce: of what is found in the same words on several routes, one line says how many there are.
func TestDiffListsAlikeOnce(t *testing.T) {
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: New()}
	for i, message := range []string{"rejected", "rejected", "lost", "rejected"} {
		d.NewFindings.AddRoute(&Route{RouteName: RouteName{Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprint(i)}, Place: Place{"a.yaml", i}, Findings: []Finding{{Effect: "warn", Message: message}}})
	}
	var text, markdown bytes.Buffer
	for _, err := range []error{d.Text(&text, false), d.Markdown(&markdown)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, out := range []string{text.String(), markdown.String()} {
		if strings.Count(out, "rejected") != 1 || !strings.Contains(out, "HTTPRoute shop/0 and 2 more routes") || !strings.Contains(out, "lost") {
			t.Error(out)
		}
	}
	if found := len(d.NewFindings.Items()); found != 4 {
		t.Errorf("other forms have %d, want 4", found)
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
	d := &Diff{Difference: &traffic.Difference{}, NewFindings: after.Since(before)}
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
