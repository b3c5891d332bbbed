package lsp_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/lsp"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// timeout is how long anything may take; only a failure does.
const timeout = time.Minute

// client is the client's side, by the library of the protocol.
type client struct {
	protocol.UnimplementedClient
	published chan *protocol.PublishDiagnosticsParams
	shown     chan string
}

// PublishDiagnostics takes what the server found in a file.
func (c *client) PublishDiagnostics(_ context.Context, params *protocol.PublishDiagnosticsParams) error {
	c.published <- params
	return nil
}

// ShowMessage takes a message.
func (c *client) ShowMessage(_ context.Context, params *protocol.ShowMessageParams) error {
	c.shown <- params.Message
	return nil
}

// editor is a client that has a folder open.
type editor struct {
	protocol.Server
	client *client
	folder string
}

// open starts a server for a folder with the files, and an editor that has it open.
func open(t *testing.T, files map[string]string) *editor {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{folder: folder, client: &client{published: make(chan *protocol.PublishDiagnosticsParams, 100), shown: make(chan string, 100)}}
	for name, text := range files {
		e.write(t, name, text)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // it outlives the test, for the end
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- lsp.Serve(ctx, far, &lsp.Settings{Version: "v1", Options: func(folder string) (*check.Options, *sets.Project, error) {
			project, err := sets.FindProject(folder)
			return &check.Options{Config: config.Default(config.WithMesh(""))}, project, err
		}})
	}()
	_, conn, server := protocol.NewClient(ctx, e.client, jsonrpc2.NewStream(near))
	e.Server = server
	t.Cleanup(func() {
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := e.Exit(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
		_ = near.Close()
		<-conn.Done()
		cancel()
	})
	params := &protocol.InitializeParams{}
	params.WorkspaceFolders = protocol.NewNullable([]protocol.WorkspaceFolder{{URI: uri.File(folder), Name: "shop"}})
	result, err := e.Initialize(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	if name := result.ServerInfo.Name; name != "gammaguard" {
		t.Errorf("the server is %q", name)
	}
	if err := e.Initialized(ctx, &protocol.InitializedParams{}); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *editor) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(e.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (e *editor) uri(name string) uri.URI { return uri.File(filepath.Join(e.folder, name)) }

// finding is a diagnostic, in short.
type finding struct {
	code                  string
	severity              protocol.DiagnosticSeverity
	line, character, last uint32
}

// await waits until the server has published just these findings of a file.
func (e *editor) await(t *testing.T, name string, want ...finding) []protocol.Diagnostic {
	t.Helper()
	var got []finding
	for {
		select {
		case params := <-e.client.published:
			if params.URI != e.uri(name) {
				continue
			}
			got = nil
			for _, d := range params.Diagnostics {
				code, _ := d.Code.(protocol.String)
				got = append(got, finding{string(code), d.Severity, d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Character})
			}
			if cmp.Equal(want, got, cmp.AllowUnexported(finding{})) {
				return params.Diagnostics
			}
		case <-time.After(timeout):
			t.Fatalf("%s (-want +last)\n%s", name, cmp.Diff(want, got, cmp.AllowUnexported(finding{})))
		}
	}
}

const services = `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {gammaguard.dev/grant: all}}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
`

func route(parent string) string {
	return `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs:
  - ` + parent + `
  rules:
  - backendRefs: [{name: cart, port: 80}]
`
}

const good = `{group: "", kind: Service, name: cart, port: 80}`

func (e *editor) open(t *testing.T, name, text string) {
	t.Helper()
	if err := e.DidOpen(t.Context(), &protocol.DidOpenTextDocumentParams{
		TextDocument: protocol.TextDocumentItem{URI: e.uri(name), LanguageID: "yaml", Version: 1, Text: text},
	}); err != nil {
		t.Fatal(err)
	}
}

func (e *editor) change(t *testing.T, name, text string) {
	t.Helper()
	params := &protocol.DidChangeTextDocumentParams{ContentChanges: []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: text}}}
	params.TextDocument.URI, params.TextDocument.Version = e.uri(name), 2
	if err := e.DidChange(t.Context(), params); err != nil {
		t.Fatal(err)
	}
}
