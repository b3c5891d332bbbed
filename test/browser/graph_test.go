//go:build e2e

// Package browser opens what gammaguard writes for browsers in a real one, Debian's
// Chromium.
package browser

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/test/bed"
)

var update = flag.Bool("update", false, "write docs/images/graph.png")

// graph writes the page of the manifests, and returns its path.
func graph(t *testing.T, stdin, manifests string) string {
	t.Helper()
	var page, stderr bytes.Buffer
	if code := command.Main([]string{"gammaguard", "graph", "-f", manifests, "-o", "html"}, strings.NewReader(stdin), &page, &stderr); code != command.ExitClean {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	path := filepath.Join(t.TempDir(), "graph.html")
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens the address, and returns what Chromium prints. The page may not complain.
func open(t *testing.T, address string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--user-data-dir=" + t.TempDir()}, args...)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "chromium", append(args, address)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if complaints := regexp.MustCompile(`.*CONSOLE.*`).FindAllString(stderr.String(), -1); len(complaints) > 0 {
		t.Errorf("%s: %q", address, complaints)
	}
	return stdout.String()
}

// rows counts the rows of the table that are shown, and those that are not.
func rows(dom string) (shown, hidden int) {
	hidden = len(regexp.MustCompile(`<tr class="[a-z-]+"[^>]* hidden=""`).FindAllString(dom, -1))
	return strings.Count(dom, "<tr class=") - hidden, hidden
}

func example(t *testing.T) (manifests, root string) {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "examples", "shop"), root
}

// TestGraph: the page shows all, a search keeps what it finds, and the rest fades.
func TestGraph(t *testing.T) {
	manifests, root := example(t)
	address := "file://" + graph(t, "", manifests)
	all := open(t, address, "--dump-dom")
	if shown, hidden := rows(all); shown != 11 || hidden != 0 || !strings.Contains(all, "11 of 11 rows") || strings.Contains(all, " off\"") {
		t.Errorf("%d rows are shown, %d hidden:\n%s", shown, hidden, all)
	}
	found := open(t, address+"#no-grant%20lab", "--dump-dom")
	if shown, hidden := rows(found); shown != 1 || hidden != 10 || !strings.Contains(found, "1 of 11 rows") {
		t.Errorf("a search: %d rows are shown, %d hidden:\n%s", shown, hidden, found)
	}
	if !strings.Contains(found, `class="edge no-grant"`) || !strings.Contains(found, `class="edge loses off"`) {
		t.Errorf("a search does not fade the rest:\n%s", found)
	}
	png := filepath.Join(t.TempDir(), "graph.png")
	if *update {
		png = filepath.Join(root, "docs", "images", "graph.png")
	}
	open(t, address, "--window-size=1440,620", "--screenshot="+png)
	if info, err := os.Stat(png); err != nil || info.Size() < 20<<10 || info.Size() > 150<<10 {
		t.Errorf("the screenshot: %v, %v", info, err)
	}
}

// TestGraphHostile: names run no script, neither at once nor when they are searched.
func TestGraphHostile(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: "</title><script>document.title='owned'</script>", namespace: "<img src=x onerror=document.title='owned'>"},
 spec: {parentRefs: [{group: "", kind: Service, name: "'\"><svg onload=document.title='owned'>"}], rules: [{backendRefs: [{name: "</script><script>document.title='owned'//", port: 80}]}]}}`
	page := "file://" + graph(t, route, "-")
	for _, address := range []string{page, page + "#<script>"} {
		dom := open(t, address, "--dump-dom")
		if !strings.Contains(dom, "<title>Routes of all namespaces</title>") || !strings.Contains(dom, "1 of 1 rows") {
			t.Errorf("%s:\n%s", address, dom)
		}
	}
}

// TestGraphLarge: the largest graph opens, and can be searched.
func TestGraphLarge(t *testing.T) {
	var routes strings.Builder
	for i := range 500 {
		fmt.Fprintf(&routes, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r%[1]d, namespace: n%[2]d}, spec: {parentRefs: [{group: "", kind: Service, name: s%[3]d}], rules: [{backendRefs: [{name: b%[1]d, port: 80}]}]}}
---
`, i, i%20, i%100)
	}
	began := time.Now()
	dom := open(t, "file://"+graph(t, routes.String(), "-")+"#r499", "--dump-dom")
	if shown, hidden := rows(dom); shown != 1 || hidden != 499 {
		t.Errorf("%d rows are shown, %d hidden", shown, hidden)
	}
	t.Logf("500 routes in %v", time.Since(began))
}
