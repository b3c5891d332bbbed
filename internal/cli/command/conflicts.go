package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/conflicts"
	"github.com/gammaguard/gammaguard/internal/printable"
)

type conflictFlags struct {
	inputFlags
	access        *access
	allNamespaces bool
	cluster       bool
	output        string
}

func newConflicts() *cobra.Command {
	flags := &conflictFlags{}
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "Show which routes own each Service port",
		Long: `List the Service ports that routes attach to, by scope: the routes that own each port, the routes that lose it, and the reason. If routes
of different kinds attach to the same port, the most specific kind wins, regardless of age: GRPCRoute, HTTPRoute, TLSRoute, TCPRoute.
Routes that lack the required grant do not compete, and neither do dormant routes, whose parentRef no mesh acts on until they are changed.

With -f, -k, or --helm, the command lists the Service ports in manifests, in all namespaces unless -n names one. That is also the namespace
of objects that do not set one. It applies mutations first. The configuration and the context of .gammaguard.yaml apply, as in gammaguard check. If a namespace is not in the input, its routes are assumed to have the grant.
With --cluster too, it lists the ports of the live cluster as they would be after you apply the manifests. Without input, it lists those of
the live cluster, with the configuration that gammaguard in the cluster runs with. It only reads from the cluster, and reports what you
cannot read there. A user who can read only the namespace sees its Services and routes, but not the consumer routes of other namespaces.`,
		Example: `  # List the Services in the current namespace
  gammaguard conflicts

  # List all namespaces, with every route on each port, also those that do not compete for it
  gammaguard conflicts -A -o wide

  # List the Service ports in manifests
  gammaguard conflicts -f manifests/

  # List only the ports that a route loses
  gammaguard conflicts -A -o json | jq '.items[] | select(.conflict)'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	addAllNamespaces(cmd, &flags.allNamespaces)
	addOutput(cmd, &flags.output, "a table", "wide", "json", "yaml")
	flags.add(cmd)
	flags.access = addWorld(cmd, &flags.cluster, "routes in the input replace those of the cluster; without input, the cluster is read alone")
	cmd.Flags().Lookup("namespace").Usage = namespaceUsage + currentNamespace + ", or, for files without --cluster, all"
	return cmd
}

func (f *conflictFlags) run(cmd *cobra.Command) error {
	list, live, where, err := f.find(cmd)
	if err != nil {
		return err
	}
	return errors.Join(f.write(cmd, list, live, where), f.access.notice(cmd.ErrOrStderr(), live, len(list.Items) > 0))
}

// write writes the list, of what is there.
func (f *conflictFlags) write(cmd *cobra.Command, list *conflicts.List, live *cluster.Cluster, where string) error {
	switch out := cmd.OutOrStdout(); {
	case isData(f.output):
		return writeData(out, f.output, list)
	case len(list.Items) == 0 && len(list.Unknown) > 0:
		if live == nil { // each of them was named
			return nil
		}
		_, err := printable.Fprintf(cmd.ErrOrStderr(), "Routes are attached to Services in %s, but none of these Services can be read.\n", where)
		return err
	case len(list.Items) == 0:
		_, err := printable.Fprintf(cmd.ErrOrStderr(), "No routes are attached to Services in %s.\n", where)
		return err
	default:
		return list.Table(out, where == everywhere, f.output == "wide")
	}
}

// everywhere is where routes are looked for if no namespace is named.
const everywhere = "any namespace"

// find lists the ports of the files, or of the cluster, and says where it looked.
func (f *conflictFlags) find(cmd *cobra.Command) (list *conflicts.List, live *cluster.Cluster, where string, err error) {
	if named, err := f.complete(); named || err != nil {
		if err != nil {
			return nil, nil, "", err
		}
		return f.ofFiles(cmd)
	}
	live, configuration, _, err := f.access.connectInstalled(cmd)
	if err != nil {
		return nil, nil, "", err
	}
	namespace, where := f.in(live.Current)
	if err := live.Preload(namespace, false); err != nil {
		return nil, nil, "", err
	}
	list, err = conflicts.Find(live, configuration.Policy(), namespace)
	if err == nil && len(list.Items)+len(list.Unknown) == 0 {
		err = check.NamespaceExists(live, namespace)
	}
	return list, live, where, err
}

// in returns the namespace to look in, empty for all, and how it is called.
func (f *conflictFlags) in(namespace string) (_, where string) {
	if f.allNamespaces || namespace == "" {
		return "", everywhere
	}
	return namespace, "namespace " + namespace
}

// ofFiles lists the ports of the files.
func (f *conflictFlags) ofFiles(cmd *cobra.Command) (*conflicts.List, *cluster.Cluster, string, error) {
	if f.cluster && f.options.Complete {
		return nil, nil, "", usage(cmd, errors.New("--cluster and --complete cannot be used together"))
	}
	if !f.cluster {
		if err := f.access.unused(cmd.Flags()); err != nil {
			return nil, nil, "", usage(cmd, err)
		}
	}
	if _, err := f.project(&f.access.config); err != nil {
		return nil, nil, "", err
	}
	live, err := f.access.world(cmd, &f.options, f.cluster)
	if err != nil {
		return nil, nil, "", err
	}
	f.options.Stdin = cmd.InOrStdin()
	namespace, where := f.in(f.options.Namespace)
	input, err := check.LoadTraffic(cmd.Context(), &f.options, namespace)
	if err != nil {
		return nil, nil, "", err
	}
	writeNotes(cmd, input.Notes())
	list, err := conflicts.Among(input.Reader(), input.Routes(), f.options.Config.Policy(), namespace, assumed(live))
	if err != nil {
		return nil, nil, "", err
	}
	if live != nil && len(list.Items)+len(list.Unknown) == 0 {
		if err := unseen(live, input.Reader(), namespace); err != nil {
			return nil, nil, "", err
		}
	}
	for _, service := range list.Unknown {
		if live == nil { // else the notice names it
			printable.Fprintf(cmd.ErrOrStderr(), "%s is not in the input, so its ports are not listed.\n", &service)
		}
	}
	return list, live, where, nil
}
