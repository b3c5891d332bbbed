package compat

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed"
)

// TestReleases: what gammaguard is built with, and the oldest Kubernetes that it claims to
// run on, are among the releases that are tried.
func TestReleases(t *testing.T) {
	kubernetes, err := bed.Kubernetes()
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
	page := read(t, "compatibility.md")
	if !strings.HasPrefix(page, intro) {
		t.Error("docs/compatibility.md does not begin as package compat has it: run make compat")
	}
	var want, got []string
	for _, kubernetes := range Kubernetes {
		want = append(want, heading(kubernetes))
		for _, release := range Releases() {
			want = append(want, release.cells())
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "## ") {
			got = append(got, strings.TrimSpace(line))
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| v") && len(cells) > 2 {
			got = append(got, fmt.Sprintf("%s | %s |", cells[0], cells[1]))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/compatibility.md is stale, run make compat (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
