package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

const generated = "<!-- Written by docs/gen from the catalog and the scenarios: run make docs to change it. -->\n"

// maxExamples is how many scenarios of one sort a page shows.
const maxExamples = 2

// rulePages returns the pages of docs/rules by name.
func rulePages(examples []*example) map[string]string {
	topics := explain.Topics()
	pages := map[string]string{"README.md": index(topics)}
	for i := range topics {
		pages[topics[i].ID+".md"] = page(&topics[i], examples)
	}
	return pages
}

func index(topics []explain.Topic) string {
	var b strings.Builder
	b.WriteString("# Rules and mutations\n\n" + generated)
	b.WriteString("\nEach finding has the ID of its rule. `gammaguard explain <id>` prints the text of these pages.\n")
	class := explain.Class("")
	for _, topic := range topics {
		if topic.Class != class {
			class = topic.Class
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| ID | Default | Description |\n|---|---|---|\n", headings[class].title, headings[class].text)
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | `%s` | %s |\n", topic.ID, topic.ID, topic.Default, cell(topic.Title))
	}
	return b.String()
}

var headings = map[explain.Class]struct{ title, text string }{
	explain.Rule: {"Rules", "The action `deny` denies the request, `warn` admits it with a warning, `audit` records the finding in metrics and the audit log only, and `off` disables the rule. " +
		"Set the action of a rule in the [configuration](../configuration.md)."},
	explain.Mutation: {"Mutations", "The mutating webhook makes these changes where a reference has only one possible meaning, and reports each as a warning. Turn a mutation `on` or `off` in the [configuration](../configuration.md)."},
	explain.Input:    {"Findings of `gammaguard check`", "These findings are about the input. You cannot configure them."},
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// page is the page of one topic.
func page(topic *explain.Topic, examples []*example) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n**%s.**\n\n", topic.ID, generated, topic.Title)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| %s, default | `%s` |\n", topic.Class, topic.Default)
	if topic.Class != explain.Input {
		fmt.Fprintf(&b, "| applies to | %s |\n", topic.KindNames())
	}
	if topic.Citation != "" {
		fmt.Fprintf(&b, "| specification | %s |\n", cell(strings.Replace(topic.Citation, "GEP-1294", "GEP-1294 (formerly GEP-1426)", 1)))
	}
	fmt.Fprintf(&b, "\n## Rationale\n\n%s\n\n## How to fix\n\n%s\n", topic.Rationale, topic.Remedy)
	if len(topic.Notes) > 0 {
		b.WriteString("\n")
		for _, note := range topic.Notes {
			fmt.Fprintf(&b, "- %s\n", note)
		}
	}
	if configuration := topic.Configuration(); configuration != "" {
		fmt.Fprintf(&b, "\nTo change the default, use the [configuration](../configuration.md):\n\n```yaml\n%s\n```\n", configuration)
	}
	if topic.Class != explain.Input {
		shown, spared := choose(topic.ID, examples)
		writeExamples(&b, "## Examples\n", shown)
		writeExamples(&b, "## Examples that do not match\n", spared)
	}
	return b.String()
}

// choose returns scenarios in which the ID shows, those about it first, and some
// about it in which it does not.
func choose(id string, examples []*example) (shown, spared []*example) {
	var others []*example
	for _, e := range examples {
		switch about, shows := e.about(id), e.shows(id); {
		case about && shows:
			shown = append(shown, e)
		case shows:
			others = append(others, e)
		case about:
			spared = append(spared, e)
		}
	}
	if len(shown) == 0 {
		shown = others[:min(len(others), 1)]
	}
	return shown[:min(len(shown), maxExamples)], spared[:min(len(spared), maxExamples)]
}

func writeExamples(b *strings.Builder, heading string, examples []*example) {
	if len(examples) == 0 {
		return
	}
	b.WriteString("\n" + heading)
	for _, e := range examples {
		e.write(b)
	}
}

// write shows the scenario's files and, after each that is applied, the answers.
func (e *example) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n", e.scenario.Title())
	if _, citation, found := strings.Cut(e.scenario.Comment, "\n"); found {
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(citation))
	}
	fmt.Fprintf(b, "[The scenario](%s)\n", e.link())
	steps := e.scenario.Steps
	for _, file := range e.files {
		name := path.Base(file.Name)
		if strings.HasSuffix(name, string(runner.ConfigFile)) {
			fmt.Fprintf(b, "\nWith this configuration:\n\n```yaml\n%s```\n", file.Data)
			continue
		}
		step := &steps[0]
		steps = steps[1:]
		switch step.Kind {
		case runner.Cluster:
			fmt.Fprintf(b, "\nIn the cluster:\n\n```yaml\n%s```\n", file.Data)
		case runner.Delete:
			fmt.Fprintf(b, "\nDeleted:\n\n```yaml\n%s```\n", file.Data)
		case runner.Apply:
			fmt.Fprintf(b, "\nApplied:\n\n```yaml\n%s```\n", file.Data)
			e.writeAnswers(b, step)
		case runner.ConfigFile, runner.Want:
		}
	}
}

func (e *example) writeAnswers(b *strings.Builder, step *runner.Step) {
	var lines []string
	for _, document := range step.Documents {
		outcome := e.answers[document]
		if outcome == nil {
			continue
		}
		verdict := "admitted"
		if outcome.Denied {
			verdict = "denied"
		}
		lines = append(lines, document.Key.String()+" is "+verdict)
		for line := range strings.SplitSeq(outcome.Text, "\n") {
			if line != "" {
				lines = append(lines, "  "+line)
			}
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\nThe answer:\n\n```\n%s\n```\n", strings.Join(lines, "\n"))
	}
}
