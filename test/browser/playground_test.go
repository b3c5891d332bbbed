//go:build e2e

package browser

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// playground makes the page, and returns its address.
func playground(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "playground", "PLAYGROUND="+dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page := filepath.Join(dir, "index.html")
	info, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 5<<20 {
		t.Errorf("the page has %d bytes; docs/performance.md says how many", info.Size())
	}
	t.Logf("the page has %d bytes", info.Size())
	return "file://" + page
}

// TestPlayground opens the page, types a request, a route, and a change, and reads the answers; and it opens links,
// also one of somebody who would have the page run a script.
func TestPlayground(t *testing.T) {
	_, root := example(t)
	address := playground(t, root)
	page := newTab(t, 1180)
	page.call("Page.navigate", map[string]any{"url": address}, nil)
	const answer, findings = `document.getElementById("answer").textContent`, `document.getElementById("findings").innerText`
	page.wait(answer, "→ Service cart-v1:80 90 %, Service cart-v2:80 10 %")
	page.wait(findings, "namespace lab lacks the consumer grant for HTTPRoute")
	page.wait(`document.body.dataset.answered > 0`, "true")
	t.Logf("the first answer after %s ms", page.eval(`document.body.dataset.answered`))

	png := page.framed()
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs", "images", "playground.png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("request", func(t *testing.T) {
		page.t = t
		page.replace("target", "service/cart.shop:81")
		page.wait(answer, "error: ")
		page.replace("target", "service/cart:80")
		page.replace("from", "lab")
		page.wait(answer, "→ Service cart-v1:80 90 %")
	})
	t.Run("route", func(t *testing.T) {
		page.t = t
		before := page.eval(`document.getElementById("manifests").value`)
		page.replace("manifests", strings.Replace(before, "name: lab}", "name: lab, labels: {gammaguard.dev/grant: consumer}}", 1))
		page.wait(answer, "HTTPRoute lab/cart-tests rule[0]")
		if text := page.eval(findings); strings.Contains(text, "grant-missing") {
			t.Errorf("the grant is missing: %s", text)
		}
		page.replace("manifests", "kind: [")
		page.wait(findings, "broken")
		page.wait(answer, "error: the manifests cannot be read; fix the findings that are broken")
		page.replace("manifests", " ")
		page.wait(answer, "error: there are no manifests")
		page.replace("manifests", before)
		page.wait(answer, "→ Service cart-v1:80 90 %")
	})
	t.Run("change", func(t *testing.T) {
		page.t = t
		page.eval(`document.getElementById("change").click()`)
		page.wait(`document.getElementById("changed").hidden`, "false")
		page.wait(answer, "no change; ")
		changed := page.eval(`document.getElementById("changed").value`)
		page.replace("changed", strings.Replace(changed, "weight: 9", "weight: 1", 1))
		page.wait(answer, "cart-v1:80 50 %")
		link := page.eval(`document.getElementById("link").href`)
		page.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		page.call("Page.navigate", map[string]any{"url": link}, nil)
		page.wait(answer, "cart-v1:80 50 %")
		page.wait(`document.getElementById("change").checked`, "true")
	})
	t.Run("broken link", func(t *testing.T) {
		page.t = t
		page.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		page.call("Page.navigate", map[string]any{"url": address + "#{"}, nil)
		page.wait(answer, "error: this link has no example that can be read: SyntaxError")
		page.replace("manifests", "kind: [")
		page.wait(findings, "broken")
	})
	t.Run("no program", func(t *testing.T) {
		page.t = t
		// A browser that is too old, and, until it has failed, one that is slow: the example is there, and the page says what it waits for.
		var script struct{ Identifier string }
		page.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `new MutationObserver(() => {
  window.said ??= document.getElementById("answer")?.textContent; }).observe(document, {childList: true, subtree: true}); delete window.DecompressionStream`}, &script)
		page.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		page.call("Page.navigate", map[string]any{"url": address}, nil)
		page.wait(answer, "error: this browser cannot run gammaguard: ReferenceError: DecompressionStream is not defined")
		page.wait(`document.getElementById("manifests").value`, "cart-canary")
		page.wait(`window.said`, " MB. The first answer follows")
		page.call("Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": script.Identifier}, nil)
	})
	t.Run("hostile link", func(t *testing.T) {
		page.t = t
		const script = `</textarea></script><img src=x onerror="top.document.title='owned'"><script>top.document.title='owned'</script>`
		route := `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: ` + quoted(t, script) + `}, spec: {parentRefs: [{group: "", kind: Service, name: ` + quoted(t, script) + `}],
 rules: [{backendRefs: [{name: ` + quoted(t, script) + `, port: 80}]}]}}`
		for _, fragment := range []string{
			quoted(t, map[string]any{"manifests": route, "target": script, "path": script, "headers": script, "mesh": script}),
			quoted(t, map[string]any{"manifests": route, "changed": route + "\n---\n" + route}),
			"null", `{"manifests": {"toString": 1}}`, `[]`, "{", "<script>",
		} {
			page.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
			page.call("Page.navigate", map[string]any{"url": address + "#" + url.PathEscape(fragment)}, nil)
			page.wait(`document.body.dataset.answered > 0`, "true")
			if title := page.eval(`document.title`); title != "gammaguard playground" {
				t.Errorf("%s: the title is %q", fragment, title)
			}
			if page.eval(`document.querySelectorAll("img").length`) != "0" {
				t.Errorf("%s: the page has an element of the link", fragment)
			}
		}
	})
	if len(page.complaints) > 0 {
		t.Errorf("the page complains: %q", page.complaints)
	}
}

// framed returns a picture of the page once the picture in its frame is drawn too.
func (b *tab) framed() []byte {
	b.t.Helper()
	for range 100 {
		if png := b.screenshot(); len(png) > 150<<10 {
			return png
		}
	}
	b.t.Fatal("the picture is not drawn")
	return nil
}

// quoted returns the value in JSON, which is YAML too.
func quoted(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
