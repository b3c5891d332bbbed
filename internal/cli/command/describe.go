package command

import (
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/describe"
)

func newDescribe() *cobra.Command {
	var access *access
	output := ""
	cmd := &cobra.Command{
		Use:   "describe service/NAME",
		Short: "Show the routes on a Service of a live cluster, and who can attach routes",
		Long: `Show all about one Service, or serviceimport/NAME: its settings for consumer routes and where they come from, the routes on it by port and
scope with what becomes of each, and the grants of the namespaces of these routes. The Service can be headless, or missing. The states are
those of the graph: applies, shares, replaced, loses, no-grant, refused, invalid, unsupported, dormant, and unknown. A route that lacks its
grant applies where the mode of its namespace does not enforce, and the reason says so.

The column ACKNOWLEDGED is what the controllers of meshes have answered in the status of the route: applied (one of them accepts the
parentRef), refused, stale (an answer about an older generation of the route), or unanswered.

The last of its tables on routes has the routes on Gateways that send requests to the Service. These requests use the routes on the Gateway, and
bypass the routes on the Service.

The command only reads from the cluster, and reports what you cannot read there.`,
		Example: `  # Describe a Service in the current namespace
  gammaguard describe service/cart

  # Describe a Service as JSON
  gammaguard describe service/cart -n shop -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return describeService(cmd, access, args, output) },
	}
	addChoice(cmd, &output, "output", "o", "output format: json or yaml; if empty, text", "json", "yaml")
	access = addInstalled(cmd)
	return cmd
}

func describeService(cmd *cobra.Command, access *access, args []string, output string) error {
	key, err := describedService(args)
	if err != nil {
		return usage(cmd, err)
	}
	live, configuration, _, err := access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	routes, err := live.Routes(live.Current)
	if err != nil {
		return err
	}
	key.Namespace = live.Current
	d, err := describe.Find(live, routes, configuration.Policy(), ownControllers(configuration), key)
	if err != nil {
		return err
	}
	d.Unseen = live.Unseen()
	if err := reportUnseen(cmd.ErrOrStderr(), live); err != nil {
		return err
	}
	switch out := cmd.OutOrStdout(); output {
	case "json":
		return writeJSON(out, d)
	case "yaml":
		return writeYAML(out, d)
	default:
		return d.Text(out)
	}
}
