package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// choice is the value of a flag that takes one of some words.
type choice struct {
	word  *string
	words []string
}

func (c choice) String() string { return *c.word }
func (choice) Type() string     { return "string" }

// Set takes the word.
func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		if len(c.words) == 1 {
			return fmt.Errorf("must be %s", c.words[0])
		}
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	*c.word = word
	return nil
}

// addChoice adds a flag that takes, and completes, one of the words.
func addChoice(cmd *cobra.Command, word *string, name, shorthand, usage string, words ...string) {
	cmd.Flags().VarP(choice{word, words}, name, shorthand, usage)
	if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// addOutput adds the flag for the format of an output. Otherwise is what is written without it.
func addOutput(cmd *cobra.Command, word *string, otherwise string, words ...string) {
	list := strings.Join(words, ", ")
	if last := len(words) - 1; last == 1 {
		list = strings.Join(words, " or ")
	} else if last > 1 {
		list = strings.Join(words[:last], ", ") + ", or " + words[last]
	}
	addChoice(cmd, word, "output", "o", "output format: "+list+"; if empty, "+otherwise, words...)
}

// isData reports whether the format is one that writeData writes.
func isData(format string) bool { return format == "json" || format == "yaml" }

// writeData writes a value as JSON, or as YAML.
func writeData(w io.Writer, format string, value any) error {
	if format == "yaml" {
		return writeYAML(w, value)
	}
	return writeJSON(w, value)
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(printable.JSON(w))
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
