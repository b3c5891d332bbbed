package command

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// preflight holds the flags of the command.
type preflight struct {
	*access
	options   cluster.PreflightOptions
	overlay   string
	output    string
	installed bool
	wait      time.Duration
}

func newPreflight() *cobra.Command {
	p := &preflight{overlay: "default"}
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Check whether gammaguard can be installed in a live cluster, or works there",
		Long: `Check what an installation of gammaguard needs of a live cluster: the version of Kubernetes, the route kinds of the Gateway
API, and their versions. If the overlay uses cert-manager, the command looks for it. It also checks the image, other webhooks that see routes, and your
permissions. What cannot be determined is reported as unknown, for example whether the nodes can pull the image. The command only reads,
except that it asks the API server what you may do.

With --installed, check an installation: the Deployment, the webhook configurations, whether the API server reaches gammaguard, and what
happens to a bad route. The route is in the namespace of the installation, or in the one of -n. The route is a server-side dry run, so it is
never stored, and so is the probe of the API server, an update of the ClusterRoleBinding gammaguard-serving. You need the permission for
both, as cluster-admin has it. With --wait, the command tries again while a check fails, for example because a rollout is not finished or
because the answer does not fit the mode.

Exit codes: 0 if no check fails, 1 if a check fails, 2 if the usage is invalid or the cluster cannot be read. With --installed, 0 means that
gammaguard refuses the bad route. 1 means that it does, or admits it by the mode warn or audit, and another check fails; or that you
cannot find out. 3 means that gammaguard answers and admits the route, as in the modes warn and audit. 4 means that the webhook is registered, and gammaguard does not answer, or
never has. 5 means that no webhook is registered.`,
		Example: `  # Check before the installation of config/overlays/audit-only
  gammaguard preflight --overlay audit-only --image registry.example.com/gammaguard-webhook:v1.2.3

  # Check on a cluster without cert-manager, and write JSON
  gammaguard preflight --overlay self-managed -o json

  # Check after the installation that a bad route is refused
  gammaguard preflight --installed --wait 1m`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd) },
	}
	addChoice(cmd, &p.overlay, "overlay", "", "overlay to install: default, audit-only, gitops, or self-managed", "default", "audit-only", "gitops", "self-managed")
	cmd.Flags().StringVar(&p.options.Image, "image", "gammaguard-webhook:dev", "image of the webhook")
	cmd.Flags().BoolVar(&p.installed, "installed", false, "check an installation in place of what it needs")
	cmd.Flags().DurationVar(&p.wait, "wait", 0, "how long to wait at most, such as 2m; with --installed, until no check fails")
	addOutput(cmd, &p.output, "a table", "json", "yaml")
	p.access = addCluster(cmd)
	addInstallation(cmd, p.access)
	cmd.Flags().Lookup("namespace").Usage = namespaceUsage + "that of the installation"
	return cmd
}

func (p *preflight) run(cmd *cobra.Command) error {
	for _, only := range []struct {
		flag string
		with bool
	}{{"overlay", false}, {"image", false}, {"wait", true}, {"installation", true}} {
		if cmd.Flags().Changed(only.flag) && p.installed != only.with {
			return usage(cmd, errors.New("--"+only.flag+" has no effect "+map[bool]string{true: "without", false: "with"}[only.with]+" --installed"))
		}
	}
	live, err := p.connect(cmd.Context())
	if err != nil {
		return err
	}
	if p.installed {
		return p.check(cmd, live)
	}
	p.options.CertManager = p.overlay != "self-managed"
	checks, err := live.Preflight(cmd.Context(), p.options)
	if err != nil {
		return err
	}
	if err := p.print(cmd, checks); err != nil {
		return err
	}
	if cluster.Failed(checks) != nil {
		return errFindings
	}
	return nil
}

// check checks an installation, again and again while a check fails, until the time of --wait is over. It says which one.
func (p *preflight) check(cmd *cobra.Command, live *cluster.Cluster) error {
	options := cluster.InstalledOptions{Installation: p.installation, Namespace: *p.Namespace}
	end, said := time.Now().Add(p.wait), cluster.Check{}
	for {
		checks, state, err := live.Installed(cmd.Context(), options)
		if err != nil {
			return err
		}
		failed := cluster.Failed(checks)
		if failed != nil && time.Now().Before(end) {
			if *failed != said {
				said = *failed
				printable.Fprintf(cmd.ErrOrStderr(), "waiting: %s: %s\n", said.Name, said.Details)
			}
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(time.Second):
				continue
			}
		}
		if err := p.print(cmd, checks); err != nil {
			return err
		}
		byMode := checks[len(checks)-1].Result != cluster.Fail // of the bad route, the last check: where it is admitted by the mode, that is no failure
		switch {
		case state == cluster.Lenient && (failed == nil || !byMode):
			return exitCode(ExitNotEnforcing)
		case state == cluster.Silent:
			return exitCode(ExitNotAnswering)
		case state == cluster.Unregistered:
			return exitCode(ExitNotRegistered)
		case state != cluster.Works || failed != nil:
			return errFindings
		}
		return nil
	}
}

func (p *preflight) print(cmd *cobra.Command, checks []cluster.Check) error {
	if isData(p.output) {
		return writeData(cmd.OutOrStdout(), p.output, cluster.NewPreflightReport(checks))
	}
	return cluster.PreflightTable(cmd.OutOrStdout(), checks)
}
