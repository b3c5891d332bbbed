package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Hover explains what was found on the line.
func (s *server) Hover(ctx context.Context, params *protocol.HoverParams) (*protocol.Hover, error) {
	items, _, err := s.settled(ctx, params.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	var sections []string
	for _, item := range items {
		topic, ok := explain.Find(item.ID)
		if !ok || item.Line != int(params.Position.Line)+1 {
			continue
		}
		section := fmt.Sprintf("**%s** [%s](%s)\n\n%s", topic.Title, topic.ID, topic.Page(), topic.Markdown())
		if !slices.Contains(sections, section) {
			sections = append(sections, section)
		}
	}
	if len(sections) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to say
	}
	return &protocol.Hover{Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: strings.Join(sections, "\n\n---\n\n")}}, nil
}

// CodeAction offers to make the mutations of the lines in the file.
func (s *server) CodeAction(ctx context.Context, params *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	actions := []protocol.CommandOrCodeAction{}
	if only := params.Context.Only; len(only) > 0 && !slices.Contains(only, protocol.CodeActionKindQuickFix) {
		return actions, nil
	}
	items, document, err := s.settled(ctx, params.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	var text string
	if document != nil {
		text = document.text
	} else if data, err := repository.Read(pathOf(params.TextDocument.URI)); err == nil {
		text = string(yaml.UTF8(data))
	}
	kind, yes, lines := protocol.CodeActionKindQuickFix, true, linesOf(text)
	made := map[protocol.TextEdit]*protocol.CodeAction{}
	for i := range items {
		item := &items[i]
		if line := uint32(max(0, item.Line-1)); item.Edit == nil || line < params.Range.Start.Line || line > params.Range.End.Line { //nolint:gosec // it is a small number
			continue
		}
		edit := protocol.TextEdit{NewText: item.Edit.Text, Range: protocol.Range{
			Start: lines.position(item.Edit.StartLine, item.Edit.StartColumn), End: lines.position(item.Edit.EndLine, item.Edit.EndColumn),
		}}
		if made[edit] != nil { // on the routes that kustomizations make of one
			made[edit].Diagnostics = append(made[edit].Diagnostics, lines.diagnostic(item))
			continue
		}
		made[edit] = &protocol.CodeAction{
			Title: item.Text, Kind: &kind, IsPreferred: &yes, Diagnostics: []protocol.Diagnostic{lines.diagnostic(item)},
			Edit: &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{params.TextDocument.URI: {edit}}},
		}
		actions = append(actions, made[edit])
	}
	return actions, nil
}
