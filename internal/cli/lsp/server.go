// Package lsp is a language server for manifests with mesh routes. It checks what
// `gammaguard check` checks, by the same engine: the sets of the folders that the editor
// has open, with the text of open documents in the place of their files.
//
// Notifications are handled one after the other, in their order. One goroutine checks; while
// it does, changes add up, and requests that need to know what it finds wait.
package lsp

import (
	"context"
	"io"
	"path/filepath"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// Settings say how folders are checked.
type Settings struct {
	// Version is that of the program.
	Version string
	// Options returns how to check the folder, and its project, which may be nil.
	Options func(folder string) (*check.Options, *sets.Project, error)
}

// Serve serves one client until it disconnects, asks the server to exit, or the context
// is done. The error is that of the connection.
func Serve(ctx context.Context, stream io.ReadWriteCloser, settings *Settings) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		settings: settings, exit: cancel,
		documents: map[string]*document{}, changed: map[string]bool{}, found: map[string][]report.Item{},
		wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	conn := jsonrpc2.NewConn(jsonrpc2.NewStream(stream), jsonrpc2.WithCodec(codec{}))
	s.client = protocol.ClientDispatcher(conn)
	var group sync.WaitGroup
	group.Go(func() { s.work(ctx) })
	inOrder := protocol.ServerHandler(s, jsonrpc2.MethodNotFoundHandler)
	handle := protocol.CancelHandler(inOrder)
	conn.Go(ctx, func(ctx context.Context, req *jsonrpc2.Request) (any, error) {
		switch {
		case req.Method() == protocol.MethodInitialize, req.Method() == protocol.MethodShutdown:
			return inOrder(ctx, req) // answered before what follows, such as exit, is read
		case req.IsCall(): // which may wait, while notifications are handled in their order
			jsonrpc2.Async(ctx)
		}
		return handle(ctx, req)
	})
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	cancel()
	group.Wait()
	return conn.Err()
}

// codec encodes what is sent as the protocol demands.
type codec struct{}

// Marshal encodes a message's content.
func (codec) Marshal(v any) ([]byte, error) { return protocol.Marshal(v) }

// Unmarshal decodes a message's content.
func (codec) Unmarshal(data []byte, v any) error { return protocol.Unmarshal(data, v) }

// server is the server's side of one connection.
type server struct {
	protocol.UnimplementedServer
	settings *Settings
	client   protocol.Client
	exit     func()
	// wake has the worker look for work, and idle is closed while there is none.
	wake chan struct{}

	mu   sync.Mutex
	idle chan struct{}
	// roots are the folders that are open, and documents the files, by their paths.
	roots     []string
	documents map[string]*document
	// changed are the documents that changed since the last check, and anew is set if sets
	// must be looked for.
	changed map[string]bool
	anew    bool
	// watches is set if the client can report changes of files.
	watches bool
	// found are the items of the last check, by the paths of their files.
	found map[string][]report.Item
}

// document is a file that is open in the editor.
type document struct {
	uri     uri.URI
	version int32
	text    string
}

// Initialize takes the folders that are open.
func (s *server) Initialize(_ context.Context, params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	folders, _ := params.WorkspaceFolders.Get()
	for _, folder := range folders {
		s.root(folder.URI)
	}
	if root := params.RootURI; len(folders) == 0 && root != nil { //nolint:staticcheck // clients without workspace folders say this
		s.root(*root)
	}
	if workspace := params.Capabilities.Workspace; workspace != nil {
		s.watches = watches(workspace)
	}
	yes, full := true, protocol.TextDocumentSyncKindFull
	return &protocol.InitializeResult{
		Capabilities: protocol.ServerCapabilities{
			TextDocumentSync:   &protocol.TextDocumentSyncOptions{OpenClose: &yes, Change: &full, Save: protocol.Boolean(true)},
			HoverProvider:      protocol.Boolean(true),
			CodeActionProvider: &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
		},
		ServerInfo: protocol.ServerInfo{Name: "gammaguard", Version: protocol.NewOptional(s.settings.Version)},
	}, nil
}

// root adds a folder; never the whole disk, which nobody means to check.
func (s *server) root(folder uri.URI) {
	if path := pathOf(folder); path != "" && filepath.Dir(path) != path {
		s.roots = append(s.roots, path)
	}
}

// Initialized has the folders checked, and asks to hear of changes of files.
func (s *server) Initialized(ctx context.Context, _ *protocol.InitializedParams) error {
	var watches bool
	s.change(func() { s.anew, watches = true, s.watches })
	if watches {
		ctx = jsonrpc2.DetachContext(ctx)
		go func() {
			_ = s.client.RegisterCapability(ctx, watchers()) // without it, saving a file is what shows a change
		}()
	}
	return nil
}

// Shutdown has nothing to save.
func (s *server) Shutdown(context.Context) error { return nil }

// Exit ends the server.
func (s *server) Exit(context.Context) error {
	s.exit()
	return nil
}

// DidOpen takes the text of a document in the place of its file.
func (s *server) DidOpen(_ context.Context, params *protocol.DidOpenTextDocumentParams) error {
	d := &params.TextDocument
	s.edit(d.URI, func(path string) {
		s.documents[path] = &document{d.URI, d.Version, d.Text}
		s.anew = s.anew || !s.inRoots(path)
	})
	return nil
}

// DidChange takes the whole new text of a document.
func (s *server) DidChange(_ context.Context, params *protocol.DidChangeTextDocumentParams) error {
	s.edit(params.TextDocument.URI, func(path string) {
		for _, change := range params.ContentChanges {
			if whole, ok := change.(*protocol.TextDocumentContentChangeWholeDocument); ok { // as was asked for
				s.documents[path] = &document{params.TextDocument.URI, params.TextDocument.Version, whole.Text}
			}
		}
	})
	return nil
}

// DidSave has sets looked for: the file may be new.
func (s *server) DidSave(context.Context, *protocol.DidSaveTextDocumentParams) error {
	s.change(func() { s.anew = true })
	return nil
}

// DidClose goes back to the file.
func (s *server) DidClose(_ context.Context, params *protocol.DidCloseTextDocumentParams) error {
	s.edit(params.TextDocument.URI, func(path string) {
		delete(s.documents, path)
		s.anew = s.anew || !s.inRoots(path)
	})
	return nil
}

// DidChangeWatchedFiles has sets looked for.
func (s *server) DidChangeWatchedFiles(context.Context, *protocol.DidChangeWatchedFilesParams) error {
	s.change(func() { s.anew = true })
	return nil
}

// edit changes a document, unless it is not a file.
func (s *server) edit(of uri.URI, how func(path string)) {
	if path := pathOf(of); path != "" {
		s.change(func() {
			s.changed[path] = true
			how(path)
		})
	}
}

// change changes what is checked, and wakes the worker.
func (s *server) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
	select {
	case <-s.idle:
		s.idle = make(chan struct{})
	default:
	}
	select {
	case s.wake <- struct{}{}:
	default: // it will look
	}
}

// settled returns what was found in the file, once all changes are checked.
func (s *server) settled(ctx context.Context, of uri.URI) ([]report.Item, *document, error) {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := pathOf(of)
	return s.found[path], s.documents[path], nil
}
