package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// access holds the flags that say by which configuration routes are judged, which
// cluster is meant, and as whom: the latter as kubectl has them.
type access struct {
	*genericclioptions.ConfigFlags
	config configuration
	// installation is the Deployment of gammaguard, as NAMESPACE/NAME.
	installation string
	// names are those of the flags that name the cluster and what is in it.
	names []string
}

// addCluster adds the flags that name the cluster, as kubectl has them.
func addCluster(cmd *cobra.Command) *access {
	a := &access{ConfigFlags: genericclioptions.NewConfigFlags(true)}
	a.ClusterName = nil // kubectl's --cluster names an entry of the kubeconfig; --context does as well
	kubectl := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.AddFlags(kubectl)
	kubectl.Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // the same in the documentation wherever it is made
	kubectl.VisitAll(func(flag *pflag.Flag) { a.names = append(a.names, flag.Name) })
	cmd.Flags().AddFlagSet(kubectl)
	return a
}

// configuration holds the flags that name the configuration.
type configuration struct {
	path string
	mesh string
}

// addConfig adds the flags that name the configuration.
func addConfig(cmd *cobra.Command, c *configuration) {
	cmd.Flags().StringVar(&c.path, "config", "", "path to a GuardConfiguration file, as for the webhook; if empty, the default configuration")
	var names []string
	for _, name := range mesh.ProfileNames() {
		names = append(names, string(name))
	}
	cmd.Flags().Var(&meshName{&c.mesh, names}, "mesh", "mesh that applies the routes, in place of mesh in the configuration: "+strings.Join(names, ", ")+
		", with its version if it is known (kuma@2.13); if empty, that of the configuration, or else the specification")
	if err := cmd.RegisterFlagCompletionFunc("mesh", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// meshName is the value of --mesh.
type meshName struct {
	name  *string
	names []string
}

// String implements pflag.Value.
func (m *meshName) String() string {
	if m.name == nil {
		return ""
	}
	return *m.name
}

// Type implements pflag.Value.
func (m *meshName) Type() string { return "string" }

// Set implements pflag.Value.
func (m *meshName) Set(name string) error {
	if name != "" && mesh.FindProfile(mesh.ProfileName(name)) == nil {
		return fmt.Errorf("must be one of %s, alone or with a version, as in kuma@2.13", strings.Join(m.names, ", "))
	}
	*m.name = name
	return nil
}

// connect returns the cluster.
func (a *access) connect(ctx context.Context) (*cluster.Cluster, error) {
	return cluster.Connect(ctx, a)
}

// ownControllers are those whose entries in status are gammaguard's.
func ownControllers(configuration *config.GuardConfiguration) []string {
	return append([]string{configuration.Status.ControllerName}, configuration.Status.FormerControllerNames...)
}

// reportUnseen writes what the user may not read of the cluster.
func reportUnseen(w io.Writer, live *cluster.Cluster) error {
	unseen := live.Unseen()
	if len(unseen) == 0 {
		return nil
	}
	_, err := printable.Fprintf(w, "You cannot read the following, so the result may be incomplete:\n")
	for _, what := range unseen {
		printable.Row(w, "  "+what)
	}
	return err
}

// connectInstalled returns the cluster, the configuration by which it is looked at, and
// where that is from, as installed does.
func (a *access) connectInstalled(cmd *cobra.Command) (*cluster.Cluster, *config.GuardConfiguration, string, error) {
	live, err := a.connect(cmd.Context())
	if err != nil {
		return nil, nil, "", err
	}
	configuration, source, err := a.installed(cmd, live)
	return live, configuration, source, err
}

// installed returns the configuration of --config, or the one that the cluster's
// gammaguard runs with, and where it is from. If that cannot be read, it is the default
// one, and a line on stderr says so.
func (a *access) installed(cmd *cobra.Command, live *cluster.Cluster) (*config.GuardConfiguration, string, error) {
	if a.config.path != "" {
		configuration, err := a.configuration()
		return configuration, "file " + a.config.path, err
	}
	configuration, source, err := live.Configuration(a.installation, a.config.override())
	if errors.Is(err, mesh.ErrUnknown) || errors.Is(err, mesh.ErrNotFound) {
		_, err = printable.Fprintf(cmd.ErrOrStderr(), "Using the default configuration: %v. Specify another one with --config.\n", err)
		return config.Default(a.config.override()), "default", err
	}
	return configuration, source, err
}

// world takes the configuration, the namespace of objects that name none, and, if it is asked
// for, the cluster into the options: the cluster's configuration then. What it returns is to be
// called at the end: it reports what could not be read.
func (a *access) world(cmd *cobra.Command, options *check.Options, cluster bool) (end func() error, err error) {
	options.Namespace = *a.Namespace
	if !cluster {
		options.Config, err = a.configuration()
		return func() error { return nil }, err
	}
	live, configuration, _, err := a.connectInstalled(cmd)
	if err != nil {
		return nil, err
	}
	options.Config, options.Cluster, options.Namespace = configuration, live, live.Current
	return func() error { return reportUnseen(cmd.ErrOrStderr(), live) }, nil
}

// addInstalled adds the flags that name the cluster, and the configuration in it.
func addInstalled(cmd *cobra.Command) *access {
	a := addCluster(cmd)
	addConfig(cmd, &a.config)
	cmd.Flags().Lookup("config").Usage = "path to a GuardConfiguration file; if empty, the configuration that gammaguard in the cluster runs with, or the default one if you cannot read it"
	addInstallation(cmd, a)
	return a
}

// addWorld adds the flags of commands over files, which may look at a cluster too.
func addWorld(cmd *cobra.Command) *access {
	a := addInstalled(cmd)
	cmd.Flags().Lookup("config").Usage = "path to a GuardConfiguration file, as for the webhook; if empty, with --cluster the configuration that gammaguard in the cluster runs with, and otherwise the default configuration"
	return a
}

// addInstallation adds the flag that names gammaguard in the cluster.
func addInstallation(cmd *cobra.Command, a *access) {
	a.names = append(a.names, "installation")
	cmd.Flags().StringVar(&a.installation, "installation", "gammaguard-system/gammaguard-webhook", "NAMESPACE/NAME of the Deployment of gammaguard, whose ConfigMap is read")
}

func (a *access) configuration() (*config.GuardConfiguration, error) { return a.config.load() }

// load returns the configuration of the file, or the default one.
func (c *configuration) load() (*config.GuardConfiguration, error) {
	if c.path == "" {
		return config.Default(c.override()), nil
	}
	return config.LoadFile(c.path, c.override())
}

// override is what the flags say in place of the configuration.
func (c *configuration) override() config.Override { return config.WithMesh(mesh.ProfileName(c.mesh)) }

// withoutCluster are flags that mean something without a cluster: the namespace of
// objects that name none, and in whose name the routes would be applied.
var withoutCluster = []string{"namespace", "as", "as-group"}

// unused returns an error for a flag that only a cluster gives a meaning to.
func (a *access) unused(set *pflag.FlagSet) error {
	for _, name := range a.names {
		if set.Changed(name) && !slices.Contains(withoutCluster, name) {
			if set.Lookup("cluster") == nil {
				return fmt.Errorf("--%s has no effect with -f, -k, or --helm", name)
			}
			return fmt.Errorf("--%s has no effect without --cluster", name)
		}
	}
	return nil
}
