package command

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// access holds the flags that say which cluster is meant, and as whom, as kubectl
// has them.
type access struct {
	flags *genericclioptions.ConfigFlags
	// names are those of its flags.
	names []string
}

func newAccess() *access {
	flags := genericclioptions.NewConfigFlags(true)
	flags.ClusterName = nil // kubectl's --cluster names an entry of the kubeconfig; --context does as well
	return &access{flags: flags}
}

func (a *access) addTo(set *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.flags.AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) {
		a.names = append(a.names, flag.Name)
		if flag.Name == "cache-dir" {
			flag.DefValue = "$HOME/.kube/cache" // the same in the documentation wherever it is made
		}
		set.AddFlag(flag)
	})
}

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
