package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// cliPrefix begins the names of the generated pages of the command line.
const cliPrefix = "gammaguard"

// writeCLI writes one page for each command.
func writeCLI(folder string) error {
	pages := map[string]string{}
	root := command.New("gammaguard", genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	if err := commandPages(root, pages); err != nil {
		return err
	}
	return write(folder, cliPrefix, pages)
}

func commandPages(cmd *cobra.Command, pages map[string]string) error {
	var page bytes.Buffer
	if err := doc.GenMarkdownCustom(cmd, &page, func(link string) string { return link }); err != nil {
		return err
	}
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "_")+".md"] = strings.TrimRight(page.String(), "\n") + "\n"
	for _, child := range cmd.Commands() {
		if !child.IsAvailableCommand() || child.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := commandPages(child, pages); err != nil {
			return err
		}
	}
	return nil
}
