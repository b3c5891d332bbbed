package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/mesh"
)

// access holds the flags that say by which configuration routes are judged, which
// cluster is meant, and as whom: the latter as kubectl has them.
type access struct {
	*genericclioptions.ConfigFlags
	config configuration
	// installation is the Deployment of gammaguard, as NAMESPACE/NAME.
	installation string
	// unconfigured is why the configuration in the cluster is not known, and the default one is used.
	unconfigured error
	// names are those of the flags that name the cluster and what is in it.
	names []string
}

// The beginnings of what flags say in help. A flag of one name has one meaning in all commands; what
// follows the first semicolon or colon may differ (TestFamily).
const (
	namespaceUsage     = "namespace to use where none is specified; if empty, "
	currentNamespace   = "that of the current context"
	allNamespacesUsage = "all namespaces, whatever --namespace says"
	clusterUsage       = "read the live cluster in addition to files; "
)

// addCluster adds the flags that name the cluster, as kubectl has them.
func addCluster(cmd *cobra.Command) *access {
	a := &access{ConfigFlags: genericclioptions.NewConfigFlags(true)}
	a.ClusterName = nil // kubectl's --cluster names an entry of the kubeconfig; --context does as well
	kubectl := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.AddFlags(kubectl)
	kubectl.Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // the same in the documentation wherever it is made
	kubectl.Lookup("namespace").Usage = namespaceUsage + currentNamespace
	kubectl.VisitAll(func(flag *pflag.Flag) {
		a.names = append(a.names, flag.Name)
		if flag.Name != "namespace" {
			_ = kubectl.SetAnnotation(flag.Name, connectionFlag, nil)
		}
	})
	cmd.Flags().AddFlagSet(kubectl)
	a.completeFlags(cmd)
	return a
}

// addAllNamespaces adds the flag that has a command look at all namespaces.
func addAllNamespaces(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVarP(all, "all-namespaces", "A", false, allNamespacesUsage)
}

// connect returns the cluster.
func (a *access) connect(ctx context.Context) (*cluster.Cluster, error) {
	return cluster.Connect(ctx, a)
}

// ownControllers are those whose entries in status are gammaguard's.
func ownControllers(configuration *config.GuardConfiguration) []string {
	return append([]string{configuration.Status.ControllerName}, configuration.Status.FormerControllerNames...)
}

// connectInstalled returns the cluster, the configuration by which it is looked at, and
// where that is from, as installed does.
func (a *access) connectInstalled(cmd *cobra.Command) (*cluster.Cluster, *config.GuardConfiguration, string, error) {
	live, err := a.connect(cmd.Context())
	if err != nil {
		return nil, nil, "", err
	}
	configuration, source, err := a.installed(live)
	return live, configuration, source, err
}

// installed returns the configuration of --config, or the one that the cluster's
// gammaguard runs with, and where it is from. If that cannot be read, it is the default
// one, which notice says. An installation that somebody names must exist.
func (a *access) installed(live *cluster.Cluster) (*config.GuardConfiguration, string, error) {
	if a.config.path != "" {
		configuration, err := a.configuration()
		return configuration, "file " + a.config.path, err
	}
	configuration, source, err := live.Configuration(a.installation, a.config.override())
	if errors.Is(err, mesh.ErrNotFound) && a.installation != defaultInstallation {
		return nil, "", fmt.Errorf("--installation: %w", err)
	}
	if errors.Is(err, mesh.ErrUnknown) || errors.Is(err, mesh.ErrNotFound) {
		a.unconfigured = err
		return config.Default(a.config.override()), "default", nil
	}
	return configuration, source, err
}

// world takes the configuration, the namespace of objects that name none, and, if it is asked
// for, the cluster into the options: the cluster's configuration then. What it returns is the
// cluster, or nil; its notice is to be written at the end.
func (a *access) world(cmd *cobra.Command, options *check.Options, cluster bool) (live *cluster.Cluster, err error) {
	options.Namespace = *a.Namespace
	if !cluster {
		options.Config, err = a.configuration()
		return nil, err
	}
	live, configuration, _, err := a.connectInstalled(cmd)
	if err != nil {
		return nil, err
	}
	options.Config, options.Cluster, options.Namespace = configuration, live, live.Current
	return live, nil
}

// addInstalled adds the flags that name the cluster, and the configuration in it.
func addInstalled(cmd *cobra.Command) *access {
	a := addCluster(cmd)
	addConfig(cmd, &a.config, installedConfiguration)
	addInstallation(cmd, a)
	return a
}

// addWorld adds the flags of commands over files, which can read a cluster too. How says what the
// command does with it.
func addWorld(cmd *cobra.Command, read *bool, how string) *access {
	a := addCluster(cmd)
	addConfig(cmd, &a.config, eitherConfiguration)
	addInstallation(cmd, a)
	cmd.Flags().BoolVar(read, "cluster", false, clusterUsage+how)
	return a
}

// defaultInstallation is the Deployment of the manifests.
const defaultInstallation = "gammaguard-system/gammaguard-webhook"

// addInstallation adds the flag that names gammaguard in the cluster.
func addInstallation(cmd *cobra.Command, a *access) {
	a.names = append(a.names, "installation")
	cmd.Flags().StringVar(&a.installation, "installation", defaultInstallation, "NAMESPACE/NAME of the Deployment of gammaguard, whose ConfigMap is read")
}

func (a *access) configuration() (*config.GuardConfiguration, error) { return a.config.load() }

// withoutCluster are flags that mean something without a cluster: the namespace of
// objects that name none, and in whose name the routes would be applied.
var withoutCluster = []string{"namespace", "as", "as-group"}

// unused returns an error for a flag that only a cluster gives a meaning to.
func (a *access) unused(set *pflag.FlagSet) error {
	for _, name := range a.names {
		if set.Changed(name) && !slices.Contains(withoutCluster, name) {
			return fmt.Errorf("--%s has no effect without --cluster", name)
		}
	}
	return nil
}
