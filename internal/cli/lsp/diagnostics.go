package lsp

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"unicode/utf16"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/validate"
)

// publish tells the client what was found, for each file about which that is news.
func (w *worker) publish(ctx context.Context) {
	found := w.items(ctx)
	w.mu.Lock()
	w.found = found
	w.mu.Unlock()
	paths := map[string]bool{}
	for path := range found {
		paths[path] = true
	}
	for path := range maps.Keys(w.published) {
		paths[path] = true
	}
	for path := range w.open {
		paths[path] = true
	}
	for path := range paths {
		params := w.diagnostics(path, found[path])
		if reflect.DeepEqual(params, w.published[path]) || ctx.Err() != nil {
			continue
		}
		_ = w.client.PublishDiagnostics(ctx, params) // the connection says if it fails
		w.published[path] = params
	}
}

// diagnostics returns what to tell the client about a file.
func (w *worker) diagnostics(path string, items []report.Item) *protocol.PublishDiagnosticsParams {
	params := &protocol.PublishDiagnosticsParams{URI: uri.File(path), Diagnostics: []protocol.Diagnostic{}}
	if d := w.open[path]; d != nil {
		params.URI, params.Version = d.uri, protocol.NewOptional(d.version)
	}
	if len(items) == 0 {
		return params
	}
	data, _ := w.readFile(path, repository.Read) // what is not there has no lines
	lines := linesOf(string(yaml.UTF8(data)))
	for i := range items {
		params.Diagnostics = append(params.Diagnostics, lines.diagnostic(&items[i]))
	}
	return params
}

// severities are what the protocol calls the effects.
var severities = map[validate.Action]protocol.DiagnosticSeverity{
	validate.Deny:        protocol.DiagnosticSeverityError,
	validate.Warn:        protocol.DiagnosticSeverityWarning,
	validate.Audit:       protocol.DiagnosticSeverityInformation,
	report.EffectUnknown: protocol.DiagnosticSeverityHint,
}

// lines are those of a text.
type lines []string

func linesOf(text string) lines { return strings.Split(text, "\n") }

// diagnostic returns the item as a diagnostic about its line.
func (l lines) diagnostic(item *report.Item) protocol.Diagnostic {
	d := protocol.Diagnostic{
		Range: l.whole(item.Line), Severity: severities[item.Effect],
		Source: protocol.NewOptional("gammaguard"), Message: protocol.String(item.Text),
	}
	if topic, ok := explain.Find(item.ID); ok {
		d.Code, d.CodeDescription = protocol.String(item.ID), protocol.CodeDescription{Href: uri.URI(topic.Page())}
	}
	return d
}

// whole returns what is written on a line, which counts from 1.
func (l lines) whole(line int) protocol.Range {
	text := ""
	if line >= 1 && line <= len(l) {
		text = strings.TrimRight(l[line-1], " \t\r")
	}
	indent := len([]rune(text)) - len([]rune(strings.TrimLeft(text, " \t")))
	return protocol.Range{Start: l.position(line, indent+1), End: l.position(line, len([]rune(text))+1)}
}

// position returns a position as the protocol counts: lines and UTF-16 code units from 0.
func (l lines) position(line, column int) protocol.Position {
	at := protocol.Position{Line: uint32(max(0, line-1))} //nolint:gosec // it is a small number
	if line >= 1 && line <= len(l) {
		before := []rune(l[line-1])
		at.Character = uint32(len(utf16.Encode(before[:min(column-1, len(before))]))) //nolint:gosec // it is a small number
	}
	return at
}
