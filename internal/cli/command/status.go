package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Manage the entries that gammaguard writes into the status of routes",
		Example: `  # Count the entries of gammaguard in a live cluster
  gammaguard status clear -A`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.Join(cmd.Help(), errors.New("a command is required"))
		},
	}
	cmd.AddCommand(newStatusClear())
	return cmd
}

// clearFlags are the flags of the command that removes the entries.
type clearFlags struct {
	access        *access
	allNamespaces bool
	confirm       bool
	output        string
}

// cleared is what became of the entries, in JSON.
type cleared struct {
	report.TypeMeta
	// Routes are those with entries.
	Routes []cluster.MarkedRoute `json:"routes"`
	// Cleared is how many of these have none any more.
	Cleared int `json:"cleared"`
}

func newStatusClear() *cobra.Command {
	flags := &clearFlags{}
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove the entries that gammaguard wrote into the status of routes",
		Long: `Remove the entries in status.parents that gammaguard wrote from the routes of a namespace, or of all with -A. Without --confirm, the command only
counts them. Entries of other controllers stay as they are.

An entry is removed if its controllerName is status.controllerName of the configuration that gammaguard in the cluster runs with, or one of
status.formerControllerNames. Use this command to uninstall gammaguard. Scale the Deployment to zero first: while gammaguard runs, it writes
the entries again. With --confirm, the command fails if the Deployment has replicas. It waits for up to a minute until their Pods have terminated,
and afterwards counts the entries again. Delete the Deployment last: it says where the configuration is.`,
		Example: `  # Count the entries
  gammaguard status clear -A

  # Remove them
  gammaguard status clear -A --confirm

  # Remove the entries under the controller names of a file
  gammaguard status clear -A --config guard.yaml --confirm`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().BoolVar(&flags.confirm, "confirm", false, "remove the entries; if false, only count them")
	addAllNamespaces(cmd, &flags.allNamespaces)
	addOutput(cmd, &flags.output, "a table", "json", "yaml")
	flags.access = addInstalled(cmd)
	return cmd
}

func (f *clearFlags) run(cmd *cobra.Command) (err error) {
	live, configuration, _, err := f.access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.access.notice(cmd.ErrOrStderr(), live, true)) }()
	namespace, where := live.Current, " in namespace "+live.Current
	if f.allNamespaces {
		namespace, where = "", ""
	}
	names := ownControllers(configuration)
	if f.confirm {
		if err := f.awaitWriter(cmd, live, names); err != nil {
			return err
		}
	}
	marked, err := live.MarkedRoutes(cmd.Context(), namespace, names)
	if err != nil {
		return err
	}
	if len(marked) == 0 {
		if err := check.NamespaceExists(live, namespace); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	switch {
	case isData(f.output):
	case len(marked) == 0:
		_, err := printable.Fprintf(out, "No route%s has an entry of %s.\n", where, strings.Join(names, " or "))
		return err
	default:
		if err := cluster.MarkedTable(out, marked); err != nil {
			return err
		}
	}
	done := 0
	if f.confirm {
		err = clearAll(cmd, live, marked, names)
		left, counted := live.MarkedRoutes(cmd.Context(), namespace, names)
		if err = errors.Join(err, counted); err == nil && len(left) > 0 {
			err = fmt.Errorf("%s%s again: something writes them, such as gammaguard in another namespace", report.Count(len(left), "route has entries", "routes have entries"), where)
		}
		done = max(0, len(marked)-len(left))
	}
	switch {
	case isData(f.output):
		return errors.Join(err, writeData(out, f.output, cleared{report.Typed("StatusClearance"), append([]cluster.MarkedRoute{}, marked...), done}))
	case !f.confirm:
		_, err := printable.Fprintf(out, "\nNothing was changed. To remove the entries of %s from %s, run the command with --confirm.\n",
			strings.Join(names, " and "), report.Count(len(marked), "route", "routes"))
		return err
	}
	_, written := printable.Fprintf(out, "\nRemoved the entries from %s.\n", report.Count(done, "route", "routes"))
	return errors.Join(err, written)
}

// stopLimit is how long Pods may take to terminate, which have 40 seconds.
const stopLimit = time.Minute

// awaitWriter waits until no gammaguard runs that writes entries of these controllers, as far as its configuration says.
func (f *clearFlags) awaitWriter(cmd *cobra.Command, live *cluster.Cluster, names []string) error {
	running, _, err := live.Configuration(f.access.installation)
	if err == nil && !slices.Contains(names, running.Status.ControllerName) {
		return nil
	}
	err = live.AwaitStopped(cmd.Context(), f.access.installation, stopLimit, func() {
		printable.Fprintf(cmd.ErrOrStderr(), "waiting for the Pods of gammaguard to terminate\n")
	})
	if errors.Is(err, mesh.ErrUnknown) {
		printable.Fprintf(cmd.ErrOrStderr(), "%s; if gammaguard still runs, it writes the entries again\n", err)
		return nil
	}
	return err
}

// clearAll removes the entries of the controllers.
func clearAll(cmd *cobra.Command, live *cluster.Cluster, marked []cluster.MarkedRoute, names []string) error {
	var errs []error
	for i := range marked {
		if err := live.ClearStatus(cmd.Context(), &marked[i], names); err != nil {
			errs = append(errs, err)
		}
		if tried := i + 1; tried%1000 == 0 && tried < len(marked) {
			printable.Fprintf(cmd.ErrOrStderr(), "cleared %d of %d routes\n", tried, len(marked))
		}
	}
	return errors.Join(errs...)
}
