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
	var stdout, stderr bytes.Buffer
	cmd := chromium(ctx, t, append(append([]string{"--enable-logging=stderr"}, args...), address)...)
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
	screenshot(t, root, address, "graph.png", "1000,730")
}

// screenshot makes a picture for the documentation; -update stores it.
func screenshot(t *testing.T, root, address, name, size string) {
	t.Helper()
	png := filepath.Join(t.TempDir(), name)
	if *update {
		png = filepath.Join(root, "docs", "images", name)
	}
	open(t, address, "--window-size="+size, "--screenshot="+png)
	if info, err := os.Stat(png); err != nil || info.Size() < 20<<10 || info.Size() > 250<<10 {
		t.Errorf("the screenshot: %v, %v", info, err)
	}
}

// manyServices are routes of a few teams: ten on each Service, of which some split, mirror, redirect, or are
// replaced for a namespace, lose the port, or lack the grant.
func manyServices(routes int) string {
	var b strings.Builder
	names := []string{"cart", "checkout", "search", "users", "orders", "stock"}
	for i, namespace := range []string{"shop", "billing", "accounts", "logistics", "media"} {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {gammaguard.dev/grant: all}}}\n---\n", namespace)
		for _, name := range names {
			if i*len(names)*10 < routes {
				fmt.Fprintf(&b, "{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s}, spec: {ports: [{name: http, port: 80}, {name: grpc, port: 9000}]}}\n---\n", name, namespace)
			}
		}
	}
	b.WriteString("{apiVersion: v1, kind: Namespace, metadata: {name: lab}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {gammaguard.dev/grant: all}}}\n---\n")
	for i := range routes {
		service := names[i/10%len(names)]
		namespace := []string{"shop", "billing", "accounts", "logistics", "media"}[i/60%5]
		kind, of, port := "HTTPRoute", namespace, 80
		rule := fmt.Sprintf("{matches: [{path: {value: /v%d}}], backendRefs: [{name: %s-v%d, port: 80}]}", i%10, service, i%10)
		switch i % 10 {
		case 1:
			rule = fmt.Sprintf("{matches: [{path: {value: /v1}, headers: [{name: tenant, value: gold}]}], backendRefs: [{name: %[1]s-v1, port: 80, weight: 90}, {name: %[1]s-v2, port: 80, weight: 10}]}, {backendRefs: [{name: %[1]s-v1, port: 80}]}", service)
		case 3:
			of = "web"
		case 5:
			kind, port = "GRPCRoute", 9000
			rule = fmt.Sprintf("{matches: [{method: {service: shop.%s, method: List}}], backendRefs: [{name: %s-grpc, port: 9000}]}", service, service)
		case 6:
			rule = "{matches: [{path: {value: /old}}], filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}, statusCode: 301}}]}"
		case 7:
			if i%4 == 1 {
				of = "lab"
			}
		case 9:
			port = 9000
		}
		fmt.Fprintf(&b, "{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {name: %s-%d, namespace: %s}, spec: {parentRefs: [{group: '', kind: Service, name: %s, namespace: %s, port: %d}], rules: [%s]}}\n---\n",
			kind, service, i, of, service, namespace, port, rule)
	}
	return b.String()
}

// TestGraphGrouped: from 60 routes on the page offers Services, and draws the one that a search leaves.
func TestGraphGrouped(t *testing.T) {
	_, root := example(t)
	for routes, size := range map[int]string{60: "1200,530", 300: "1000,1080"} {
		address := "file://" + graph(t, manyServices(routes), "-")
		all := open(t, address, "--dump-dom")
		cards := len(regexp.MustCompile(`<button class="card" value="s\d+">`).FindAllString(all, -1))
		if drawn := strings.Count(all, `<section class="picture" id="`) - len(regexp.MustCompile(`<section class="picture" id="s\d+" hidden="">`).FindAllString(all, -1)); cards != routes/10 || drawn != 0 {
			t.Errorf("%d routes: %d Services, %d pictures are drawn", routes, cards, drawn)
		}
		search := address + "#accounts/cart:"
		if routes == 60 {
			screenshot(t, root, address, "graph-60.png", size)
			search = address + "#shop/cart:"
		} else {
			screenshot(t, root, search, "graph-300.png", size)
		}
		one := open(t, search, "--dump-dom")
		if strings.Contains(one, `<button class="card" value="s0">`) || strings.Count(one, `<section class="picture" id="`)-strings.Count(one, `" hidden=""><h2>`)-strings.Count(one, "\" hidden=\"\">\n<h2>") != 1 {
			t.Errorf("%d routes: a search for a Service draws no or several pictures", routes)
		}
	}
}

// TestGraphClass: a class of requests, once it is selected, shows what it meets, and the rest fades.
func TestGraphClass(t *testing.T) {
	manifests, _ := example(t)
	path := graph(t, "", manifests)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(string(page), "")
	const choose = `<script>{const s = document.querySelector("select"); s.selectedIndex = 1; s.dispatchEvent(new Event("change"));}</script></body>`
	if err := os.WriteFile(path, []byte(strings.Replace(text, "</body>", choose, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := open(t, "file://"+path, "--dump-dom")
	if !strings.Contains(dom, "<output>→ cart-v1:80 90 %, cart-v2:80 10 %</output>") || !strings.Contains(dom, `class="edge shares"`) || !strings.Contains(dom, `class="edge shares off"`) {
		t.Errorf("the class is not shown:\n%s", dom)
	}
}

// TestGraphHostile: what a route says runs no script, neither at once nor when it is searched. Names cannot be hostile: a route
// that the API server rejects is left out.
func TestGraphHostile(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [
 {matches: [{headers: [{name: x, value: "</title></script><script>document.title='owned'</script>"}]}], backendRefs: [{name: canary, port: 80}]},
 {matches: [{queryParams: [{name: q, value: "'\"><img src=x onerror=document.title='owned'><svg onload=document.title='owned'>"}]}],
  filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x, value: "</script><script>document.title='owned'//"}]}}], backendRefs: [{name: web, port: 80}]}]}}`
	page := "file://" + graph(t, route, "-")
	for _, address := range []string{page, page + "#<script>", page + "#web"} {
		dom := open(t, address, "--dump-dom")
		if !strings.Contains(dom, "<title>Routes of all namespaces</title>") || !strings.Contains(dom, "1 of 1 rows") || !strings.Contains(dom, "onerror=document.title") {
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
