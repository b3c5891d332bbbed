package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/check/conflicts"
)

type conflictFlags struct {
	access        *access
	allNamespaces bool
	output        string
}

func newConflicts() *cobra.Command {
	flags := &conflictFlags{}
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "Show which routes own each Service port in a live cluster",
		Long: `List the Service ports of a live cluster that routes attach to, by scope: the routes that own each port, the routes that lose it, and the
reason. If routes of different kinds attach to the same port, the most specific kind wins, regardless of age: GRPCRoute, HTTPRoute,
TLSRoute, TCPRoute. Routes that lack the required grant do not compete. The command only reads from the cluster, and reports what you cannot read there: a
user who can read only the namespace sees its Services and routes, but not the consumer routes of other namespaces.`,
		Example: `  # List the Services in the current namespace
  gammaguard conflicts

  # List all namespaces, all routes, and the routes that are not eligible
  gammaguard conflicts -A -o wide

  # List only the ports that a route loses
  gammaguard conflicts -A -o json | jq '.items[] | select(.conflict)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "list the Services in all namespaces")
	addChoice(cmd, &flags.output, "output", "o", "output format: wide, json, or yaml", "wide", "json", "yaml")
	flags.access = addAccess(cmd)
	return cmd
}

func (f *conflictFlags) run(cmd *cobra.Command) error {
	configuration, err := f.access.configuration()
	if err != nil {
		return err
	}
	live, err := f.access.connect(cmd.Context())
	if err != nil {
		return err
	}
	namespace, where := live.Current, "namespace "+live.Current
	if f.allNamespaces {
		namespace, where = "", "any namespace"
	}
	list, err := conflicts.Find(live, configuration.Policy(), namespace)
	if err != nil {
		return err
	}
	if err := reportUnseen(cmd.ErrOrStderr(), live); err != nil {
		return err
	}
	switch out := cmd.OutOrStdout(); {
	case f.output == "json":
		return writeJSON(out, list)
	case f.output == "yaml":
		return writeYAML(out, list)
	case len(list.Items) == 0:
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No routes are attached to Services in %s.\n", where)
		return err
	default:
		return list.Table(out, f.allNamespaces, f.output == "wide")
	}
}
