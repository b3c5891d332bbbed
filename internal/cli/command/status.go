package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
)

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Manage the entries that gammaguard writes into the status of routes",
		Example: `  # Count the entries of gammaguard in a live cluster
  gammaguard status clear`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cmd.Help(), errors.New("a command is required"))
		},
	}
	cmd.AddCommand(newStatusClear())
	return cmd
}

func newStatusClear() *cobra.Command {
	var confirm bool
	var access *access
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove the entries that gammaguard wrote into the status of routes",
		Long: `Remove the entries in status.parents that gammaguard wrote from the routes of all namespaces, or of one with -n. Without --confirm, the command only
counts them. Entries of other controllers stay as they are.

An entry is removed if its controllerName is status.controllerName of the configuration that gammaguard in the cluster runs with, or one of
status.formerControllerNames. Use this command to uninstall gammaguard. Scale the Deployment to zero first: while gammaguard runs, it writes
the entries again. Delete it afterwards: it says where the configuration is.`,
		Example: `  # Count the entries
  gammaguard status clear

  # Remove them
  gammaguard status clear --confirm

  # Remove the entries under the controller names of a file
  gammaguard status clear --config guard.yaml --confirm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return clearStatus(cmd, access, confirm) },
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "remove the entries; if false, only count them")
	access = addInstalled(cmd)
	cmd.Flags().Lookup("namespace").Usage = "clear the routes of this namespace only; if empty, of all namespaces"
	return cmd
}

func clearStatus(cmd *cobra.Command, access *access, confirm bool) error {
	live, configuration, _, err := access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	names := append([]string{configuration.Status.ControllerName}, configuration.Status.FormerControllerNames...)
	marked, err := live.MarkedRoutes(cmd.Context(), *access.Namespace, names)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(marked) == 0 {
		_, err := printable.Fprintf(out, "No route has an entry of %s.\n", strings.Join(names, " or "))
		return err
	}
	if err := cluster.MarkedTable(out, marked); err != nil {
		return err
	}
	if !confirm {
		_, err := printable.Fprintf(out, "\nNothing was changed. To remove the entries of %s from %s, run the command with --confirm.\n",
			strings.Join(names, " and "), report.Count(len(marked), "route", "routes"))
		return err
	}
	var errs []error
	for i := range marked {
		if err := live.ClearStatus(cmd.Context(), &marked[i], names); err != nil {
			errs = append(errs, err)
		}
		if done := i + 1; done%1000 == 0 && done < len(marked) {
			printable.Fprintf(cmd.ErrOrStderr(), "cleared %d of %d routes\n", done, len(marked))
		}
	}
	_, err = printable.Fprintf(out, "\nRemoved the entries from %s.\n", report.Count(len(marked)-len(errs), "route", "routes"))
	return errors.Join(append(errs, err)...)
}
