package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// connectionFlag annotates the flags that say how to reach a cluster and as whom, which help lists after all others.
const connectionFlag = "gammaguard.dev/connection"

// listConnectionLast has the help of each command list its flags in two parts.
func listConnectionLast(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		last := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if _, connects := flag.Annotations[connectionFlag]; connects {
				last.AddFlag(flag)
			}
		})
		hide := func(hidden bool) { last.VisitAll(func(flag *pflag.Flag) { flag.Hidden = hidden }) }
		hide(true)
		err := usage(cmd)
		hide(false)
		if err != nil || !last.HasFlags() {
			return err
		}
		_, err = printable.Fprintf(cmd.OutOrStderr(), "\nConnection to the cluster, as in kubectl:\n%s", printable.Layout(last.FlagUsages()))
		return err
	})
}
