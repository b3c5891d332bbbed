package command

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/version"
)

// printVersion writes what the command version, and the flag --version, write.
func printVersion(cmd *cobra.Command, output string) error {
	if isData(output) {
		of := version.Get()
		return writeData(cmd.OutOrStdout(), output, map[string]string{
			"version": of.Version, "commit": of.Commit, "goVersion": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	_, err := printable.Fprintf(cmd.OutOrStdout(), "gammaguard %s\n", version.Get())
	return err
}

func newVersion() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the commit, the Go version, and the platform.",
		Example: "  gammaguard version",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printVersion(cmd, output)
		},
	}
	addOutput(cmd, &output, "text", "text", "json", "yaml")
	return cmd
}
