package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// TestTyping: the text of an open document counts, and its file once it is closed.
func TestTyping(t *testing.T) {
	e := open(t, map[string]string{"services.yaml": services, "cart.yaml": route(`{group: "", kind: Service, name: cart, port: 81}`)})
	noPort := finding{"parent-port-not-found", protocol.DiagnosticSeverityError, 5, 2, 52}
	e.await(t, "cart.yaml", noPort)
	e.open(t, "cart.yaml", route(good))
	e.await(t, "cart.yaml")
	e.open(t, "services.yaml", services)
	e.change(t, "services.yaml", "# gone\n")
	e.await(t, "cart.yaml",
		finding{"grant-missing", protocol.DiagnosticSeverityHint, 5, 2, 52},
		finding{"parent-not-found", protocol.DiagnosticSeverityHint, 5, 2, 52},
		finding{"backend-not-found", protocol.DiagnosticSeverityHint, 7, 2, 41})
	e.change(t, "services.yaml", strings.Replace(services, "spec: {", "spec: {type: NodePort, ", 1))
	e.await(t, "cart.yaml", finding{"parent-exposed-type", protocol.DiagnosticSeverityInformation, 5, 2, 52})
	e.change(t, "services.yaml", services)
	e.await(t, "cart.yaml")
	e.change(t, "cart.yaml", "kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: [}\n")
	e.await(t, "cart.yaml", finding{"broken-document", protocol.DiagnosticSeverityError, 1, 0, 40})
	if err := e.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("cart.yaml")}}); err != nil {
		t.Fatal(err)
	}
	e.await(t, "cart.yaml", noPort)
}

// TestHoverAndFix: hover explains what was found on a line, and a quick fix makes a mutation.
func TestHoverAndFix(t *testing.T) {
	// The comment takes other numbers of bytes, characters and UTF-16 code units.
	text := route("{kind: Service, name: cart, port: 80} # ünïcödé 🛒")
	e := open(t, map[string]string{"services.yaml": services, "cart.yaml": text})
	e.open(t, "cart.yaml", text)
	diagnostics := e.await(t, "cart.yaml", finding{"parent-group", protocol.DiagnosticSeverityWarning, 5, 2, 54})
	if got := diagnostics[0].CodeDescription.Href; got != "https://github.com/gammaguard/gammaguard/blob/main/docs/rules/parent-group.md" {
		t.Errorf("the page is %s", got)
	}

	at := protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("cart.yaml")}, Position: protocol.Position{Line: 5, Character: 7}}
	hover, err := e.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: at})
	if err != nil || hover == nil {
		t.Fatal(hover, err)
	}
	if content, ok := hover.Contents.(*protocol.MarkupContent); !ok || content.Kind != protocol.MarkupKindMarkdown || !contains(content.Value, "parent-group", "**How to fix:**") {
		t.Errorf("hover: %+v", hover.Contents)
	}
	at.Position.Line = 0
	if hover, err := e.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: at}); err != nil || hover != nil {
		t.Errorf("hover where nothing was found: %+v, %v", hover, err)
	}

	params := &protocol.CodeActionParams{TextDocument: at.TextDocument, Range: diagnostics[0].Range}
	actions, err := e.CodeAction(t.Context(), params)
	if err != nil || len(actions) != 1 {
		t.Fatal(actions, err)
	}
	action, _ := actions[0].(*protocol.CodeAction)
	edits := action.Edit.Changes[e.uri("cart.yaml")]
	want := []protocol.TextEdit{{NewText: `, group: ""`, Range: protocol.Range{Start: protocol.Position{Line: 5, Character: 18}, End: protocol.Position{Line: 5, Character: 18}}}}
	if diff := cmp.Diff(want, edits); diff != "" || action.Title != `set spec.parentRefs[0].group to "": Service is in the core group (parent-group)` {
		t.Errorf("%s (-want +got)\n%s", action.Title, diff)
	}
	params.Context.Only = []protocol.CodeActionKind{"refactor"}
	if actions, err := e.CodeAction(t.Context(), params); err != nil || len(actions) != 0 {
		t.Errorf("of another kind: %v, %v", actions, err)
	}
}

// TestFixSource: a file that kustomizations build has one quick fix for all of them, by its open text.
func TestFixSource(t *testing.T) {
	e := open(t, map[string]string{
		"base/kustomization.yaml": "resources: [services.yaml, cart.yaml]\n", "base/services.yaml": services, "base/cart.yaml": route(good),
		"prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\n", "test/kustomization.yaml": "resources: [../base]\nnamespace: test\n",
	})
	e.open(t, "base/cart.yaml", route("{name: cart, kind: Service, port: 80}"))
	group := finding{"parent-group", protocol.DiagnosticSeverityWarning, 5, 2, 41}
	found := e.await(t, "base/cart.yaml", group, group)
	actions, err := e.CodeAction(t.Context(), &protocol.CodeActionParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("base/cart.yaml")}, Range: found[0].Range})
	if err != nil || len(actions) != 1 {
		t.Fatal(actions, err)
	}
	action, _ := actions[0].(*protocol.CodeAction)
	at := protocol.Position{Line: 5, Character: 30}
	want := []protocol.TextEdit{{NewText: `, group: ""`, Range: protocol.Range{Start: at, End: at}}}
	if diff := cmp.Diff(want, action.Edit.Changes[e.uri("base/cart.yaml")]); diff != "" || len(action.Diagnostics) != 2 {
		t.Errorf("%d diagnostics (-want +got)\n%s", len(action.Diagnostics), diff)
	}
}

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestSets: kustomizations and charts are checked as sets, with open documents in the place
// of their files; what is not checked, and a project that cannot be read, is said.
func TestSets(t *testing.T) {
	const values, wrong = "port: 80\n", "port: 81\n"
	patch := strings.ReplaceAll(route(`{group: "", kind: Service, name: cart, port: 81}`), "  rules:\n  - backendRefs: [{name: cart, port: 80}]\n", "")
	e := open(t, map[string]string{
		"base/kustomization.yaml": "resources: [services.yaml, cart.yaml]\n", "base/services.yaml": services, "base/cart.yaml": route(good),
		"prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n", "prod/patch.yaml": patch,
		"chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "chart/values.yaml": values,
		"chart/templates/all.yaml": services + "---\n" + route(`{group: "", kind: Service, name: cart, port: {{ .Values.port }}}`),
	})
	noPort := func(line, last uint32) finding {
		return finding{"parent-port-not-found", protocol.DiagnosticSeverityError, line, 2, last}
	}
	e.await(t, "prod/patch.yaml", noPort(5, 52))
	e.open(t, "prod/patch.yaml", patch)
	e.change(t, "prod/patch.yaml", strings.ReplaceAll(patch, "81", "80"))
	e.await(t, "prod/patch.yaml")
	e.open(t, "chart/values.yaml", values)
	e.change(t, "chart/values.yaml", wrong)
	e.await(t, "chart/templates/all.yaml", finding{"parent-port-not-found", protocol.DiagnosticSeverityError, 14, 2, 68})
	e.open(t, "prod/kustomization.yaml", "")
	e.change(t, "prod/kustomization.yaml", "resources: [../base, ../gone]\n")
	e.await(t, "prod/kustomization.yaml", finding{"broken-document", protocol.DiagnosticSeverityError, 0, 0, 29})
	e.change(t, "prod/kustomization.yaml", "helmCharts: [{name: x}]\n")
	e.await(t, "prod/kustomization.yaml", finding{"", protocol.DiagnosticSeverityWarning, 0, 0, 23})

	e.write(t, sets.ProjectFile, "kind: Nonsense\n")
	if err := e.DidSave(t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri(sets.ProjectFile)}}); err != nil {
		t.Fatal(err)
	}
	select {
	case message := <-e.client.shown:
		if !contains(message, sets.ProjectFile, "apiVersion and kind must be") {
			t.Errorf("shown: %s", message)
		}
	case <-time.After(timeout):
		t.Error("nothing is shown about the project")
	}
}

// TestNoNamespace: what is unknown of a route without a namespace has no advice on a flag that the server does not have.
func TestNoNamespace(t *testing.T) {
	e := open(t, map[string]string{"cart.yaml": strings.Replace(route(good), "namespace: shop", "labels: {}", 1)})
	unknown := protocol.DiagnosticSeverityHint
	for _, d := range e.await(t, "cart.yaml", finding{"grant-missing", unknown, 5, 2, 52}, finding{"parent-not-found", unknown, 5, 2, 52}, finding{"backend-not-found", unknown, 7, 2, 41}) {
		if text := fmt.Sprint(d.Message); !strings.Contains(text, "; add it to the input") || strings.Contains(text, "with -n") {
			t.Errorf("%s", text)
		}
	}
}

// TestNewFile: a file is checked once it is saved, and one outside of the open folders by
// itself; a template outside of charts is not checked, which is said.
func TestNewFile(t *testing.T) {
	e := open(t, nil)
	text := route("{kind: Service, name: cart, port: 80}")
	e.write(t, "new.yaml", text)
	if err := e.DidSave(t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("new.yaml")}}); err != nil {
		t.Fatal(err)
	}
	group, unknown := finding{"parent-group", protocol.DiagnosticSeverityWarning, 5, 2, 41}, protocol.DiagnosticSeverityHint
	e.await(t, "new.yaml", group, finding{"grant-missing", unknown, 5, 2, 41}, finding{"parent-not-found", unknown, 5, 2, 41}, finding{"backend-not-found", unknown, 7, 2, 41})
	outside := filepath.Join("..", filepath.Base(t.TempDir()), "cart.yaml")
	e.write(t, outside, services+"---\n"+text)
	e.open(t, outside, services+"---\n"+text)
	group.line += 9
	e.await(t, outside, group)

	e.write(t, "template.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Values.name }}}\n")
	if err := e.DidSave(t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: e.uri("template.yaml")}}); err != nil {
		t.Fatal(err)
	}
	e.await(t, "template.yaml", finding{"", protocol.DiagnosticSeverityInformation, 0, 0, 14})
}

func TestMain(m *testing.M) {
	build.Main()
	os.Exit(m.Run())
}
