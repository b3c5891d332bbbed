package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/check/cluster"
	"github.com/gammaguard/gammaguard/check/conflicts"
	"github.com/gammaguard/gammaguard/config"
)

// conflictOutputs are the values of conflicts' --output.
var conflictOutputs = []string{"wide", "json", "yaml"}

type conflictFlags struct {
	access        *access
	allNamespaces bool
	config        string
	output        string
}

func newConflicts(streams genericiooptions.IOStreams, name string) *cobra.Command {
	flags := &conflictFlags{access: newAccess()}
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "Show who holds which Service port in a live cluster, and why",
		Long: `List the Service ports of a live cluster that routes are bound to, by scope: which routes hold each, which lose it, and why. Where routes of
several kinds meet on one port, the most specific kind wins, whatever their age: GRPCRoute, HTTPRoute, TLSRoute, TCPRoute. Routes that
lack their grant take no part. The cluster is only read.`,
		Example: examples(name, `  # The Services of the current namespace
  %[1]s conflicts

  # All namespaces, with all routes and those that take no part
  %[1]s conflicts -A -o wide

  # Only where a route loses a port
  %[1]s conflicts -A -o json | jq '.items[] | select(.conflict)'
`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd, streams) },
	}
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "the Services of all namespaces")
	cmd.Flags().StringVar(&flags.config, "config", "", "GuardConfiguration to judge by, as the webhook's --config; the default one if empty")
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "wide, json or yaml")
	flags.access.addTo(cmd.Flags())
	completeWords(cmd, "output", conflictOutputs...)
	return cmd
}

func (f *conflictFlags) run(cmd *cobra.Command, streams genericiooptions.IOStreams) error {
	if f.output != "" && !slices.Contains(conflictOutputs, f.output) {
		return fmt.Errorf("--output %q: want one of %s", f.output, strings.Join(conflictOutputs, ", "))
	}
	configuration := config.Default()
	if f.config != "" {
		var err error
		if configuration, err = config.LoadFile(f.config); err != nil {
			return err
		}
	}
	live, err := cluster.Connect(cmd.Context(), f.access.flags)
	if err != nil {
		return err
	}
	namespace := ""
	if !f.allNamespaces {
		if namespace, _, err = f.access.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	list, err := conflicts.Find(cmd.Context(), live, configuration.Policy(), namespace)
	if err != nil {
		return err
	}
	return f.write(list, namespace, streams)
}

func (f *conflictFlags) write(list *conflicts.List, namespace string, streams genericiooptions.IOStreams) error {
	switch f.output {
	case "json":
		return writeJSON(streams.Out, list)
	case "yaml":
		text, err := yaml.Marshal(list)
		if err != nil {
			return err
		}
		_, err = streams.Out.Write(text)
		return err
	}
	if len(list.Items) == 0 {
		where := "namespace " + namespace
		if f.allNamespaces {
			where = "any namespace"
		}
		_, err := fmt.Fprintf(streams.ErrOut, "No routes are bound to Services of %s.\n", where)
		return err
	}
	return list.Table(streams.Out, f.allNamespaces, f.output == "wide")
}
