package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/version"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the commit, the Go version, and the platform.",
		Example: "  gammaguard version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "gammaguard", version.Get())
			return err
		},
	}
}
