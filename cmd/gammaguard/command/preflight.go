package command

import (
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/check/cluster"
)

func newPreflight() *cobra.Command {
	var (
		access  *access
		options cluster.PreflightOptions
		overlay = "default"
		output  string
	)
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Check whether gammaguard can be installed in a live cluster",
		Long: `Check what an installation of gammaguard needs of a live cluster: the version of Kubernetes, the route kinds of the Gateway API and their
versions, cert-manager if the overlay uses it, the image, other webhooks that see routes, and your permissions. What cannot be determined is
reported as unknown, for example whether the nodes can pull the image. The command only reads, except that it asks the API server what you
may do.

Exit codes: 0 if no check fails, 1 if a check fails, 2 if the usage is invalid or the cluster cannot be read.`,
		Example: `  # Check before the installation of config/overlays/audit-only
  gammaguard preflight --overlay audit-only --image registry.example.com/gammaguard-webhook:v1.2.3

  # Check on a cluster without cert-manager, and write JSON
  gammaguard preflight --overlay self-managed -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			live, err := access.connect(cmd.Context())
			if err != nil {
				return err
			}
			options.CertManager = overlay != "self-managed"
			checks, err := live.Preflight(cmd.Context(), options)
			if err != nil {
				return err
			}
			if output == "json" {
				err = writeJSON(cmd.OutOrStdout(), checks)
			} else {
				err = cluster.PreflightTable(cmd.OutOrStdout(), checks)
			}
			if err == nil && cluster.Failed(checks) {
				err = errFindings
			}
			return err
		},
	}
	addChoice(cmd, &overlay, "overlay", "", "overlay to install: default, audit-only, gitops, or self-managed", "default", "audit-only", "gitops", "self-managed")
	cmd.Flags().StringVar(&options.Image, "image", "gammaguard-webhook:dev", "image of the webhook")
	addChoice(cmd, &output, "output", "o", "output format: json; if empty, a table", "json")
	access = addCluster(cmd)
	return cmd
}
