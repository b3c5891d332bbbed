package command

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/mesh"
)

// completionTimeout is how long a shell waits for what a cluster has.
const completionTimeout = 3 * time.Second

// completeFlags has a shell complete the flags that name the cluster and what is in it.
func (a *access) completeFlags(cmd *cobra.Command) {
	complete(cmd, "namespace", a.completer(namespaces))
	complete(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := a.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for name := range raw.Contexts {
			names = append(names, name)
		}
		return shown(names), cobra.ShellCompDirectiveNoFileComp
	})
}

// complete has a shell complete the flag.
func complete(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // the flag is there
	}
}

// completer completes by what the cluster has.
func (a *access) completer(find func(live *cluster.Cluster, begun string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		live, err := a.connect(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := find(live, begun)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return shown(slices.DeleteFunc(found, func(text string) bool { return !strings.HasPrefix(text, begun) })), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeArgument has a shell complete the argument by what the cluster has, unless flags name
// files, which are not read for that. The argument may be resource/NAME, or resource NAME, in each spelling of the resource.
func (a *access) completeArgument(cmd *cobra.Command, find func(live *cluster.Cluster, begun string) ([]string, error)) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		ofFiles := slices.ContainsFunc([]string{"filename", "kustomize", "helm"}, cmd.Flags().Changed) && !cmd.Flags().Changed("cluster")
		word, name, slash := strings.Cut(begun, "/")
		shown, separate := word+"/", len(args) == 1 && !slash
		if separate {
			word, name, shown = args[0], begun, ""
		}
		resource := resourceOf(word)
		switch {
		case ofFiles, len(args) > 0 && (!separate || resource == ""):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case !separate && (!slash || resource == ""):
			return a.completer(find)(cmd, args, begun)
		}
		names, directive := a.completer(find)(cmd, args, resource+"/"+name)
		for i := range names {
			names[i] = shown + strings.TrimPrefix(names[i], resource+"/")
		}
		return names, directive
	}
}

// resourceOf returns the resource as completions have it, such as service for svc; it is empty for what is none.
func resourceOf(written string) string {
	if kind := describedKinds[strings.ToLower(written)]; kind != "" {
		return strings.ToLower(kind)
	}
	if kind, _ := describedRoute([]string{written + "/name"}); kind != "" {
		return routeResource(kind)
	}
	return ""
}

// routeResource returns the resource of the kind, with its group if that is not the Gateway API's.
func routeResource(kind mesh.RouteKind) string {
	resource := strings.ToLower(kind.Name())
	if kind.Group() != mesh.GatewayGroup {
		resource += "." + kind.Group()
	}
	return resource
}

// word is what a shell takes as it is, as names of objects are.
var word = regexp.MustCompile(`^[a-zA-Z0-9._:/@-]+$`)

// shown leaves out what a shell would not take as it is.
func shown(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return !word.MatchString(text) })
	slices.Sort(texts)
	return slices.Compact(texts)
}

// namespaces returns the names of the namespaces.
func namespaces(live *cluster.Cluster, _ string) (names []string, err error) {
	found, err := live.Namespaces("")
	for _, namespace := range found {
		names = append(names, namespace.Name)
	}
	return names, err
}

// services returns the Services of the current namespace, as service/NAME.
func services(live *cluster.Cluster, _ string) (names []string, err error) {
	found, err := live.Services(live.Current)
	for _, service := range found {
		names = append(names, strings.ToLower(service.Key.Kind)+"/"+service.Key.Name)
	}
	return names, err
}

// described returns the Services and the routes of the current namespace, as service/NAME and
// httproute/NAME.
func described(live *cluster.Cluster, begun string) ([]string, error) {
	names, err := services(live, begun)
	if err != nil {
		return nil, err
	}
	routes, err := live.RoutesIn(live.Current)
	if err != nil {
		return names, nil //nolint:nilerr // who may not list routes has the Services
	}
	for _, object := range routes {
		names = append(names, routeResource(object.Route.Kind)+"/"+object.Key.Name)
	}
	return names, nil
}

// targets returns the Services of the current namespace, as NAME and service/NAME, or with their ports
// once there is a colon; and those of another one once the name is followed by a dot and it.
func targets(live *cluster.Cluster, begun string) (names []string, err error) {
	target, _, ported := strings.Cut(begun, ":")
	of := live.Current
	_, namespace, qualified := strings.Cut(target, ".")
	if qualified {
		of = namespace
	}
	if of == "" {
		return nil, nil // else all namespaces
	}
	found, err := live.Services(of)
	for _, service := range found {
		for _, name := range []string{service.Key.Name, strings.ToLower(service.Key.Kind) + "/" + service.Key.Name} {
			if qualified {
				name += "." + of
			}
			switch {
			case !ported:
				names = append(names, name)
			case name == target:
				for _, port := range service.Ports {
					names = append(names, name+":"+strconv.Itoa(int(port.Number)))
					if port.Name != "" {
						names = append(names, name+":"+port.Name)
					}
				}
			}
		}
	}
	return names, err
}
