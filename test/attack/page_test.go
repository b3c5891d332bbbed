package attack

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed"
)

// The lists and tables of docs/attacks.md are made here.
//
//go:generate go test . -run ^TestPage$ -update

var updatePage = flag.Bool("update", false, "write the tables of docs/attacks.md")

// page returns the text of a page of docs/, and where it is.
func page(t *testing.T, name string) (text, file string) {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(root, "docs", name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), file
}

// TestPage compares the tables of docs/attacks.md with those in this package. With
// -update it writes them.
func TestPage(t *testing.T) {
	text, file := page(t, "attacks.md")
	want := text
	for name, table := range map[string]string{"attacks": attackList(), "matrix": matrixTable(), "faults": faultTable()} {
		begin, end := "<!-- "+name+": written by make docs -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no part %q", file, name)
		}
		want = before + begin + "\n" + table + "\n" + end + after
	}
	if *updatePage {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s is stale, run make docs (-want +got):\n%s", file, diff)
	}
}

func attackList() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d attacks on %d weaknesses.\n", len(attacks), len(weaknesses))
	weakness := ""
	for _, a := range attacks {
		if a.weakness != weakness {
			weakness = a.weakness
			fmt.Fprintf(&b, "\n### %s\n\n", weakness)
		}
		fmt.Fprintf(&b, "- **%s**\n  - By: %s.\n  - Afterwards: %s.\n  - Tests: %s\n", a.steps, a.actor, a.holds, quoted(a.tests))
	}
	return b.String()
}

// quoted are names of tests in Markdown.
func quoted(tests []string) string { return "`" + strings.Join(tests, "`, `") + "`" }

func matrixTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d combinations: %d ways, %d kinds and versions, %d parents.\n\n", combinations(), len(ways), len(endpoints), len(meshParents()))
	b.WriteString("| Ways to write a route |\n|---|\n")
	for _, w := range ways {
		fmt.Fprintf(&b, "| %s |\n", w.name)
	}
	b.WriteString("\n| Parent kinds | Groups |\n|---|---|\n")
	for _, n := range named {
		var groups []string
		for _, g := range n.groups {
			if g == nil {
				groups = append(groups, "omitted")
			} else {
				groups = append(groups, fmt.Sprintf("`%q`", g))
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(n.kinds, "`, `"), strings.Join(groups, ", "))
	}
	b.WriteString("\n| Kinds and versions of routes |\n|---|\n")
	for _, e := range endpoints {
		fmt.Fprintf(&b, "| %s %s |\n", e.kind, e.version)
	}
	return b.String()
}

// TestTable: each weakness is tried, and the table knows no others.
func TestTable(t *testing.T) {
	var tried []string
	for _, a := range attacks {
		tried = append(tried, a.weakness)
	}
	if diff := cmp.Diff(weaknesses, slices.Compact(tried)); diff != "" {
		t.Errorf("weaknesses that are tried, in order (-want +got):\n%s", diff)
	}
}

// TestThreats: the page answers each of the 18 threats, with a test where something holds it.
func TestThreats(t *testing.T) {
	text, _ := page(t, "threats.md")
	threats := regexp.MustCompile(`(?m)^### (\d+)\. (.+)$`).FindAllStringSubmatch(text, -1)
	answers := regexp.MustCompile(`(?m)^### .+$`).Split(text, -1)[1:]
	if len(threats) != 18 {
		t.Errorf("%d threats are answered, want 18", len(threats))
	}
	for i, threat := range threats {
		if threat[1] != strconv.Itoa(i+1) {
			t.Errorf("threat %s is in the place of %d", threat[1], i+1)
		}
		needed := "\n- Tests: `"
		if strings.HasPrefix(answers[i], "\n\ngammaguard does not prevent it.\n") {
			needed = "\n- For you: "
		}
		if !strings.Contains(answers[i], needed) {
			t.Errorf("%s lacks %q: %s", threat[0], needed, answers[i])
		}
	}
}
