package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
)

func newExplain() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "explain [ID]",
		Short: "Explain a rule or a mutation",
		Long:  "Explain when a rule fires, why it matters, and how to fix what it finds. Without an ID, list all rules and mutations.",
		Example: `  # List all rules and mutations
  gammaguard explain

  # Explain one rule
  gammaguard explain parent-headless

  # Print all rules and mutations as JSON
  gammaguard explain -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			topics, out := explain.Topics(), cmd.OutOrStdout()
			switch {
			case len(args) == 0 && isData(output):
				return writeData(out, output, topics)
			case len(args) == 0:
				return catalog(out, topics)
			}
			topic, found := explain.Find(args[0])
			switch {
			case !found:
				return unknownID(args[0], topics)
			case isData(output):
				return writeData(out, output, topic)
			}
			return explainTopic(out, &topic)
		},
	}
	for _, topic := range explain.Topics() {
		cmd.ValidArgs = append(cmd.ValidArgs, topic.ID+"\t"+topic.Title)
	}
	addOutput(cmd, &output, "text", "text", "json", "yaml")
	return cmd
}

// catalog writes all topics as a table.
func catalog(w io.Writer, topics []explain.Topic) error {
	out := printers.GetNewTabWriter(w)
	class := explain.Class("")
	for _, topic := range topics {
		if topic.Class != class {
			if class != "" {
				printable.Row(out)
			}
			class = topic.Class
			printable.Row(out, strings.ToUpper(string(class)), "DEFAULT", "DESCRIPTION")
		}
		printable.Row(out, topic.ID, topic.Default, topic.Title)
	}
	return out.Flush()
}

// explainTopic writes everything about one topic.
func explainTopic(w io.Writer, topic *explain.Topic) error {
	var b strings.Builder
	printable.Fprintf(&b, "%s (%s, default: %s)\n\n", topic.ID, topic.Class, topic.Default)
	section := func(title, text string) {
		if text != "" {
			printable.Fprintf(&b, "%s\n%s\n", title, printable.Layout(wrap(text, 80, "  ")))
		}
	}
	what := topic.Title + "."
	if topic.Class != explain.Input {
		what += " Applies to " + topic.KindNames() + "."
	}
	section("DESCRIPTION", what)
	section("RATIONALE", topic.Rationale)
	section("HOW TO FIX", topic.Remedy)
	section("NOTES", strings.Join(topic.Notes, " "))
	section("SPECIFICATION", topic.Citation)
	section("CONFIGURATION", topic.Configuration())
	_, err := printable.Fprintf(w, "%s\n", printable.Layout(strings.TrimRight(b.String(), "\n")))
	return err
}

// wrap breaks the text into lines of at most width columns, each with the indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = ""
		}
		if line == "" {
			line = indent + word
		} else {
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}

// unknownID says which IDs may be meant.
func unknownID(id string, topics []explain.Topic) error {
	known := &cobra.Command{SuggestionsMinimumDistance: 4}
	for _, topic := range topics {
		known.AddCommand(&cobra.Command{Use: topic.ID, Run: func(*cobra.Command, []string) {}})
	}
	hint := ""
	if near := known.SuggestionsFor(id); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? "
	}
	return fmt.Errorf("unknown ID %q: %srun 'gammaguard explain' to list all IDs", id, hint)
}
