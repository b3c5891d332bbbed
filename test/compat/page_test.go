package compat

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// cluster is what came of all releases of the Gateway API on one API server.
type cluster struct {
	Kubernetes string
	Results    []*Result
}

//go:embed page.md.tmpl
var pageText string

// page returns docs/compatibility.md.
func page(t *testing.T, clusters ...cluster) string {
	t.Helper()
	parsed, err := template.New("page").Funcs(template.FuncMap{"cell": cell, "reasons": reasons}).Parse(pageText)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, clusters); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// cell has the versions in which a kind is served.
func cell(r *Result, kind mesh.RouteKind) string {
	if _, refused := r.Refused[definitionOf(kind)]; refused {
		return "refused"
	}
	return cmp.Or(strings.Join(r.Versions[kind], ", "), "-")
}

// reasons lists the definitions that were refused, in a line each.
func reasons(results []*Result) []string {
	lines := map[string]bool{}
	for _, result := range results {
		for name, reason := range result.Refused {
			lines[fmt.Sprintf("- %#q of %s: %#q", name, result.Version, reason)] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// TestReleases: what gammaguard is built with, and the oldest Kubernetes that it claims to
// run on, are among the releases that are tried.
func TestReleases(t *testing.T) {
	kubernetes, err := bed.Kubernetes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := Kubernetes[len(Kubernetes)-1]; got != kubernetes {
		t.Errorf("the last release of Kubernetes is %s, test/controlplane requires %s", got, kubernetes)
	}
	gatewayAPI, err := bed.Go(t.Context(), ".", nil, "list", "-m", "-f", "{{.Version}}", gatewayModule)
	if err != nil {
		t.Fatal(err)
	}
	if got := GatewayAPI[len(GatewayAPI)-1]; got != gatewayAPI {
		t.Errorf("the last release of the Gateway API is %s, go.mod requires %s", got, gatewayAPI)
	}
	oldest := strings.Join(strings.Split(strings.TrimPrefix(Kubernetes[0], "v"), ".")[:2], ".")
	for _, page := range []string{"install.md", "compatibility.md"} {
		if text := read(t, page); !strings.Contains(text, "Kubernetes "+oldest+" ") {
			t.Errorf("docs/%s does not claim Kubernetes %s, the oldest that is tried", page, oldest)
		}
	}
}

// TestPage: docs/compatibility.md has each release that is tried, and no other.
func TestPage(t *testing.T) {
	written := read(t, "compatibility.md")
	if !strings.HasPrefix(written, page(t)) {
		t.Error("docs/compatibility.md does not begin as its template does: run make compat")
	}
	var want, got []string
	for _, kubernetes := range Kubernetes {
		want = append(want, "## Kubernetes "+kubernetes)
		for _, release := range Releases() {
			want = append(want, fmt.Sprintf("| %s | %s |", release.Version, release.Channel))
		}
	}
	for line := range strings.Lines(written) {
		if strings.HasPrefix(line, "## ") {
			got = append(got, strings.TrimSpace(line))
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| v") && len(cells) > 2 {
			got = append(got, fmt.Sprintf("%s | %s |", cells[0], cells[1]))
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("docs/compatibility.md is stale, run make compat (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(pagePath(page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pagePath(page string) string { return filepath.Join("..", "..", "docs", page) }
