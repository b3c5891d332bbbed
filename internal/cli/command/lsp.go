package command

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/lsp"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/version"
)

const lspLong = `Serve the Language Server Protocol on standard input and output, for editors. The server reports the findings of 'gammaguard check' as
you type, explains them on hover, and offers mutations as quick fixes.

The server finds the sets in the folders that the editor has open, as 'gammaguard check' does, and reads their .gammaguard.yaml. It uses the
text of open documents in place of their files. When you change a document, it checks the sets that contain it; when you save one, or the
editor reports that files changed, it looks for sets again.

Exit codes: 0 if the client asks the server to exit or closes the connection, 2 if the usage is invalid or the connection fails.`

const lspExamples = `  # Serve an editor, which starts the command
  gammaguard lsp

  # Use the configuration of the cluster, and report what Istio ignores
  gammaguard lsp --config guard.yaml --mesh istio

  # Use the experimental channel, and treat what is open as complete
  gammaguard lsp --channel experimental --complete

  # Use the CustomResourceDefinitions in a directory
  gammaguard lsp --crds crds/`

func newLSP() *cobra.Command {
	options := check.Options{Alone: true}
	var config configuration
	cmd := &cobra.Command{
		Use:     "lsp",
		Short:   "Run the language server for editors",
		Long:    lspLong,
		Example: lspExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stream := struct {
				io.Reader
				io.Writer
				io.Closer
			}{cmd.InOrStdin(), unwrapped(cmd.OutOrStdout()), io.NopCloser(nil)} // a protocol, not a text
			return lsp.Serve(cmd.Context(), stream, &lsp.Settings{Version: version.Get().Version, Options: func(folder string) (*check.Options, *sets.Project, error) {
				project, err := sets.FindProject(folder)
				if err != nil {
					return nil, nil, err
				}
				of, config := options, config
				if err := applyProject(project, &config, &of); err != nil {
					return nil, nil, err
				}
				of.Config, err = config.load()
				return &of, project, err
			}})
		},
	}
	addDefinitions(cmd, &options)
	addConfig(cmd, &config, projectConfiguration)
	return cmd
}
