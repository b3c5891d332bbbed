package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// inputNames are the flags that name input, and judging those that say what is made of it and by what it is judged. What a
// printed command says depends on both.
var (
	inputNames = []string{"filename", "kustomize", "helm", "values", "cluster"}
	judging    = []string{"allow-remote", "build-timeout", "channel", "crds", "complete", "config", "mesh", "kubeconfig", "context", "installation", "namespace"}
)

// again returns those of the flags that the user has set, as words of a shell, for a command that is printed.
func again(cmd *cobra.Command, names []string, except ...string) (words []string) {
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && !slices.Contains(except, name) {
			words = append(words, wordsOf(flag)...)
		}
	}
	return words
}

// wordsOf returns the words that set a flag to its value.
func wordsOf(flag *pflag.Flag) (words []string) {
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand
	}
	values := []string{flag.Value.String()}
	if slice, several := flag.Value.(pflag.SliceValue); several {
		values = slice.GetSlice()
	}
	for _, value := range values {
		switch {
		case flag.NoOptDefVal == "":
			words = append(words, name, printable.Shell(value))
		case value == flag.NoOptDefVal:
			words = append(words, name)
		}
	}
	return words
}
