package command

import (
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/grantpolicy"
)

func newPolicy() *cobra.Command {
	var (
		from   configuration
		output string
		static bool
	)
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write the policies by which the API server itself enforces grants",
		Long: `Write the ValidatingAdmissionPolicy, and its bindings, by which the API server refuses routes without a grant while no gammaguard runs. They
are made from the configuration: run the command again when you change it, and apply the result. The command needs no cluster.

The output for the default configuration is config/policy/route_grants.yaml.`,
		Example: `  # Write the policies of the default configuration
  gammaguard policy

  # Write the policies of a configuration
  gammaguard policy --config guard.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := from.load()
			if err != nil {
				return err
			}
			set := grantpolicy.New(c.Policy())
			if static {
				set = set.Static()
			}
			text, err := set.YAML()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	addConfig(cmd, &from, defaultConfiguration)
	cmd.Flags().BoolVar(&static, "static", false, "write names for files that the API server reads at its start (Kubernetes 1.36, alpha), in place of objects to apply")
	addOutput(cmd, &output, "yaml", "yaml")
	return cmd
}
