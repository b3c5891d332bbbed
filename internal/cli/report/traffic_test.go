package report

import (
	"bytes"
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
