package command

import (
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/version"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the commit, the Go version, and the platform.",
		Example: "  gammaguard version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := printable.Fprintf(cmd.OutOrStdout(), "gammaguard %s\n", version.Get())
			return err
		},
	}
}
