package lsp

import "go.lsp.dev/protocol"

// watches reports whether the client can tell of changes of files.
func watches(workspace *protocol.WorkspaceClientCapabilities) bool {
	files := workspace.DidChangeWatchedFiles
	return files != nil && files.DynamicRegistration != nil && *files.DynamicRegistration
}

// watchers asks to hear of changes of files that sets are made of.
func watchers() *protocol.RegistrationParams {
	options, err := protocol.Marshal(&protocol.DidChangeWatchedFilesRegistrationOptions{
		Watchers: []protocol.FileSystemWatcher{{GlobPattern: protocol.Pattern("**/*.{yaml,yml,json,tpl}")}},
	})
	if err != nil {
		panic(err) // it is constant
	}
	return &protocol.RegistrationParams{Registrations: []protocol.Registration{{
		ID: "files", Method: protocol.MethodWorkspaceDidChangeWatchedFiles, RegisterOptions: options,
	}}}
}
