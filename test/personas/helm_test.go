package personas

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/kube"
)

// helm does what the program helm does, by its library, and does not wait for Pods, which do not run here. It returns the exit code.
func helm(args []string) int {
	if err := runHelm(args); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

func runHelm(args []string) error {
	var options values.Options
	flags := pflag.NewFlagSet("helm", pflag.ContinueOnError)
	namespace := flags.StringP("namespace", "n", "default", "")
	flags.StringArrayVar(&options.Values, "set", nil, "")
	flags.StringSliceVarP(&options.ValueFiles, "values", "f", nil, "")
	create := flags.Bool("create-namespace", false, "")
	flags.Bool("wait", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	settings := cli.New()
	settings.SetNamespace(*namespace)
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := configuration.Init(settings.RESTClientGetter(), *namespace, "secret"); err != nil {
		return err
	}
	given, err := options.MergeValues(getter.Providers{})
	if err != nil {
		return err
	}
	command, name := flags.Arg(0), flags.Arg(1)
	if command == "uninstall" {
		uninstall := action.NewUninstall(configuration)
		uninstall.WaitStrategy = kube.HookOnlyStrategy
		_, err := uninstall.Run(name)
		return err
	}
	chart, err := loader.LoadDir(flags.Arg(2))
	if err != nil {
		return err
	}
	switch command {
	case "install":
		install := action.NewInstall(configuration)
		install.ReleaseName, install.Namespace, install.CreateNamespace, install.WaitStrategy = name, *namespace, *create, kube.HookOnlyStrategy
		_, err = install.RunWithContext(context.Background(), chart, given)
	case "upgrade":
		upgrade := action.NewUpgrade(configuration)
		upgrade.Namespace, upgrade.WaitStrategy = *namespace, kube.HookOnlyStrategy
		_, err = upgrade.RunWithContext(context.Background(), name, chart, given)
	default:
		err = fmt.Errorf("unknown command %q", command)
	}
	return err
}
