package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

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
		Short: "Show who holds which Service port in a live cluster, and why",
		Long: `List the Service ports of a live cluster that routes are bound to, by scope: which routes hold each, which lose it, and why. Where routes of
several kinds meet on one port, the most specific kind wins, whatever their age: GRPCRoute, HTTPRoute, TLSRoute, TCPRoute. Routes that
lack their grant take no part. The cluster is only read.`,
		Example: `  # The Services of the current namespace
  gammaguard conflicts

  # All namespaces, with all routes and those that take no part
  gammaguard conflicts -A -o wide

  # Only where a route loses a port
  gammaguard conflicts -A -o json | jq '.items[] | select(.conflict)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "the Services of all namespaces")
	addChoice(cmd, &flags.output, "output", "o", "wide, json or yaml", "wide", "json", "yaml")
	flags.access = addAccess(cmd)
	return cmd
}

func (f *conflictFlags) run(cmd *cobra.Command) error {
	configuration, err := f.access.configuration()
	if err != nil {
		return err
	}
	live, namespace, err := f.access.connect(cmd.Context())
	if err != nil {
		return err
	}
	where := "namespace " + namespace
	if f.allNamespaces {
		namespace, where = "", "any namespace"
	}
	list, err := conflicts.Find(cmd.Context(), live, configuration.Policy(), namespace)
	if err != nil {
		return err
	}
	switch out := cmd.OutOrStdout(); {
	case f.output == "json":
		return writeJSON(out, list)
	case f.output == "yaml":
		text, err := yaml.Marshal(list)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case len(list.Items) == 0:
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No routes are bound to Services of %s.\n", where)
		return err
	default:
		return list.Table(out, f.allNamespaces, f.output == "wide")
	}
}
