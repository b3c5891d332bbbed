package command

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/grants"
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
	wait          time.Duration
}

func newAudit() *cobra.Command {
	flags := &auditFlags{}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check the routes that are stored in a live cluster",
		Long: `Check each stored route in a live cluster as if a user created it now, with the configuration that gammaguard in the cluster runs with.
For each namespace, the command reports how many routes would be denied, which grant they need, and the command that grants it. For a
route that lacks a grant, the findings include those that the missing grant hides.

The table has what to do first above the rest: missing grants, other denials, warnings, and changes that mutations would make. Findings that
a mode downgrades stand where mode enforce would have them. Findings that are equal but for the route share a line, and the summary counts
each of them. With -o wide, each has a line of its own, with how to fix it.

A parentRef that no mesh acts on, such as kind Service with the wrong group, is dormant: it has no effect until the route is changed. The
command does not judge it as live. It prints the commands that make such routes live: first the grant, if it is missing, then the patches.
For a route that a controller owns, it names the owner to correct instead of a patch.

A producer route does not apply to the clients of a namespace if consumer routes of that namespace replace it. It is listed as replaced,
with the route that replaces it. With -n, only the routes of one namespace are read, so that this is known with -A alone.

Modes and exemptions apply as they do at admission: in a namespace whose mode is audit or warn, nothing would be denied. Use --as-mode
enforce to check what would be denied if the namespaces were enforced.

The column APPLIED is how many of the routes with mesh parents a mesh has accepted. Of such a route, the condition Accepted of another
controller is True for each mesh parent, about the current generation. With -o wide, a list names the others: unanswered, stale (an answer
about an older generation), or refused. With --wait, the command waits until all are accepted; it then reports whether they are, and its
exit code says nothing of the findings.

The command only reads from the cluster, and reports what you cannot read there. In SARIF, the location of a route is the path
NAMESPACE/KIND/NAME.

Exit codes: 0 if no route would be denied, 1 if a route would be denied, 2 if the usage is invalid or the cluster cannot be read. With
--wait: 0 once a mesh accepts every mesh parent, 1 if it does not in time.`,
		Example: `  # Check the routes in the current namespace
  gammaguard audit

  # Check what would be denied in all namespaces if all were enforced
  gammaguard audit -A --as-mode enforce

  # Show how to fix each finding, and the findings that are for the audit log alone
  gammaguard audit -n shop -o wide

  # Check the routes in one namespace with a configuration that is not applied yet
  gammaguard audit -n shop --config guard.yaml

  # In a pipeline, wait until a mesh has accepted the routes in one namespace
  gammaguard audit -n shop --wait 2m

  # List the commands that grant what is missing
  gammaguard audit -A -o json | jq -r '.namespaces[].command // empty'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	addAllNamespaces(cmd, &flags.allNamespaces)
	addChoice(cmd, &flags.asMode, "as-mode", "", "mode to check each namespace in: enforce, warn, or audit; if empty, the mode of the namespace", "enforce", "warn", "audit")
	cmd.Flags().DurationVar(&flags.wait, "wait", 0, "how long to wait at most, such as 2m; until a mesh accepts every mesh parent of the routes, or else the exit code is 1")
	addOutput(cmd, &flags.output, "a table", "wide", "json", "yaml", "sarif")
	flags.access = addInstalled(cmd)
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command) error {
	if f.wait < 0 {
		return usage(cmd, errors.New("--wait must not be negative"))
	}
	live, configuration, source, err := f.access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	if err := f.preload(live); err != nil {
		return err
	}
	routes, waiting, err := f.await(cmd.Context(), live, configuration)
	if err != nil {
		return err
	}
	own := ownControllers(configuration)
	result, err := audit.Run(live, routes, &audit.Options{Config: configuration, AsMode: mesh.Mode(f.asMode), Own: own})
	if err != nil {
		return err
	}
	result.Configuration, result.Unseen = source, live.Unseen()
	if len(result.Namespaces) == 0 && !f.allNamespaces {
		if err := check.NamespaceExists(live, live.Current); err != nil {
			return err
		}
	}
	where := "namespace " + live.Current
	if f.allNamespaces {
		where = everywhere
		if result.Notes, err = live.Idle(configuration); err != nil {
			return err
		}
	}
	ineffective, err := f.ineffective(cmd.Context(), live)
	if err != nil {
		return err
	}
	result.Notes = append(result.Notes, ineffective...)
	if len(routes) == 0 {
		note, err := live.WithoutGatewayAPI()
		if err != nil {
			return err
		}
		if note != "" {
			result.Notes = append(result.Notes, note)
		}
	}
	if err := errors.Join(f.write(cmd, result, where), f.access.notice(cmd.ErrOrStderr(), live, len(result.Namespaces) > 0)); err != nil {
		return err
	}
	switch {
	case f.wait > 0 && len(waiting) > 0:
		printable.Fprintf(cmd.ErrOrStderr(), "After %s, no mesh accepts:\n", f.wait)
		if err := audit.Unapplied(cmd.ErrOrStderr(), waiting); err != nil {
			return err
		}
		return errFindings
	case f.wait == 0 && result.Denies():
		return errFindings
	}
	return nil
}

// ineffective says which labels and annotations of the namespaces have no effect.
func (f *auditFlags) ineffective(ctx context.Context, live *cluster.Cluster) ([]string, error) {
	if !f.allNamespaces {
		return live.IneffectiveAt(mesh.ServiceKey{}), nil
	}
	namespaces, err := live.Namespaces("")
	if err != nil {
		return nil, err
	}
	objects, err := live.NamespaceObjects(ctx, namespaces)
	return cluster.Ineffective(objects), err
}

// preload reads what the routes may refer to.
func (f *auditFlags) preload(live *cluster.Cluster) error {
	if f.allNamespaces {
		return live.Preload("", true)
	}
	return live.Preload(live.Current, true)
}

// routes reads the routes.
func (f *auditFlags) routes(live *cluster.Cluster) ([]*manifest.Object, error) {
	if f.allNamespaces {
		return live.Routes()
	}
	return live.RoutesIn(live.Current)
}

// await reads the routes: again and again until a mesh accepts every mesh parent of them, or the
// time of --wait is over. It returns those that no mesh accepts.
func (f *auditFlags) await(ctx context.Context, live *cluster.Cluster, configuration *config.GuardConfiguration) ([]*manifest.Object, []audit.NotApplied, error) {
	const interval = 2 * time.Second
	end := time.Now().Add(f.wait)
	for {
		began := time.Now()
		routes, err := f.routes(live)
		if err != nil {
			return nil, nil, err
		}
		waiting := audit.Waiting(routes, configuration.Policy().Mesh, ownControllers(configuration))
		left := time.Until(end)
		if len(waiting) == 0 || left <= 0 {
			return routes, waiting, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(min(left, max(interval, 4*time.Since(began)))): // many routes are read less often
		}
		live.RereadRoutes()
	}
}

// write writes the result, of the routes that are there.
func (f *auditFlags) write(cmd *cobra.Command, result *audit.Report, where string) error {
	switch out := cmd.OutOrStdout(); {
	case isData(f.output):
		return writeData(out, f.output, result)
	case f.output == "sarif":
		return result.SARIF(out, version.Get().Version)
	case len(result.Namespaces) == 0:
		_, err := printable.Fprintf(cmd.ErrOrStderr(), "No routes that gammaguard checks in %s.\n", where)
		return errors.Join(err, grants.WriteNotes(cmd.ErrOrStderr(), result.Notes))
	default:
		return result.Table(out, f.output == "wide")
	}
}
