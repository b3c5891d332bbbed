package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// version is set by the linker: -X github.com/gammaguard/gammaguard/cmd/gammaguard/command.version=v1.2.3.
var version string

func newVersion(streams genericiooptions.IOStreams, name string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the commit that it was built from, and the Go version and platform that it was built for.",
		Example: examples(name, "  %[1]s version\n"),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "gammaguard", versionText())
			return err
		},
	}
}

// versionText reads "v1.2.3 (commit 0123abcd, go1.26.0, linux/amd64)".
func versionText() string {
	number, commit := versionOf(debug.ReadBuildInfo())
	if commit != "" {
		commit = "commit " + commit + ", "
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", number, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionOf returns the version that the linker was told, or else that of the
// module, and the commit, with "+dirty" if the work tree had changes.
func versionOf(info *debug.BuildInfo, ok bool) (number, commit string) {
	number = version
	if !ok {
		if number == "" {
			number = "unknown"
		}
		return number, ""
	}
	dirty := ""
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value[:min(len(setting.Value), 12)]
		case "vcs.modified":
			if setting.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if number == "" {
		number = info.Main.Version
	}
	if number == "" {
		number = "(devel)"
	}
	if commit != "" {
		commit += dirty
	}
	return number, commit
}
