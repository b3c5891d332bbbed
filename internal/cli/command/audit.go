package command

import (
	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/version"
	"github.com/gammaguard/gammaguard/mesh"
)

type auditFlags struct {
	access        *access
	allNamespaces bool
	asMode        string
	output        string
}

func newAudit() *cobra.Command {
	flags := &auditFlags{}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check the routes that are stored in a live cluster",
		Long: `Check each stored route in a live cluster as if a user created it now, with the configuration that gammaguard in the cluster runs with.
For each namespace, the command reports how many routes would be denied, which grant they need, and the command that grants it. For a
route that lacks a grant, the findings include those that the missing grant hides.

A parentRef that no mesh acts on, such as kind Service with the wrong group, is dormant: it has no effect until the route is changed. The
command does not judge it as live. It prints the commands that make such routes live: first the grant, if it is missing, then the patches.
For a route that a controller owns, it names the owner to correct instead of a patch.

Modes and exemptions apply as they do at admission: in a namespace whose mode is audit or warn, nothing would be denied. Use --as-mode
enforce to check what would be denied if the namespaces were enforced.

The command only reads from the cluster, and reports what you cannot read there. In SARIF, the location of a route is the path
NAMESPACE/KIND/NAME.

Exit codes: 0 if no route would be denied, 1 if a route would be denied, 2 if the usage is invalid or the cluster cannot be read.`,
		Example: `  # Check the routes in the current namespace
  gammaguard audit

  # Check what would be denied in all namespaces if all were enforced
  gammaguard audit -A --as-mode enforce

  # Show how to fix each finding, and the findings that are for the audit log alone
  gammaguard audit -n shop -o wide

  # Check the routes in one namespace with a configuration that is not applied yet
  gammaguard audit -n shop --config guard.yaml

  # List the commands that grant what is missing
  gammaguard audit -A -o json | jq -r '.namespaces[].command // empty'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().BoolVarP(&flags.allNamespaces, "all-namespaces", "A", false, "check the routes in all namespaces")
	addChoice(cmd, &flags.asMode, "as-mode", "", "mode to check each namespace in: enforce, warn, or audit; if empty, the mode of the namespace", "enforce", "warn", "audit")
	addChoice(cmd, &flags.output, "output", "o", "output format: wide, json, yaml, or sarif; if empty, a table", "wide", "json", "yaml", "sarif")
	flags.access = addInstalled(cmd)
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command) error {
	live, configuration, source, err := f.access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	routes, err := f.routes(live)
	if err != nil {
		return err
	}
	result, err := audit.Run(live, routes, &audit.Options{Config: configuration, AsMode: mesh.Mode(f.asMode)})
	if err != nil {
		return err
	}
	result.Configuration, result.Unseen = source, live.Unseen()
	if err := reportUnseen(cmd.ErrOrStderr(), live); err != nil {
		return err
	}
	where := "namespace " + live.Current
	if f.allNamespaces {
		where = everywhere
	}
	if err := f.write(cmd, result, where); err != nil {
		return err
	}
	if result.Denies() {
		return errFindings
	}
	return nil
}

// routes reads the routes, and what they may refer to.
func (f *auditFlags) routes(live *cluster.Cluster) ([]*manifest.Object, error) {
	if f.allNamespaces {
		if err := live.Preload("", true); err != nil {
			return nil, err
		}
		return live.Routes()
	}
	if err := live.Preload(live.Current, true); err != nil {
		return nil, err
	}
	return live.RoutesIn(live.Current)
}

// write writes the result, of the routes that are there.
func (f *auditFlags) write(cmd *cobra.Command, result *audit.Report, where string) error {
	switch out := cmd.OutOrStdout(); {
	case f.output == "json":
		return writeJSON(out, result)
	case f.output == "yaml":
		return writeYAML(out, result)
	case f.output == "sarif":
		return result.SARIF(out, version.Get().Version)
	case len(result.Namespaces) == 0:
		_, err := printable.Fprintf(cmd.ErrOrStderr(), "No routes that gammaguard checks in %s.\n", where)
		return err
	default:
		return result.Table(out, f.output == "wide")
	}
}
