package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

func newDescribe() *cobra.Command {
	var access *access
	output := ""
	cmd := &cobra.Command{
		Use:   "describe (service/NAME[.NAMESPACE] | httproute/NAME)",
		Short: "Show all about a Service or a route of a live cluster",
		Long: `Show all about one Service or ServiceImport, which you name as service/NAME or service/NAME.NAMESPACE: its settings for consumer routes, and
where they come from. It lists the routes on it by port and scope, with what becomes of each, and the grants of the namespaces of these routes. The Service can be headless, or
missing if routes name it. The states are those of the graph: applies, shares, replaced, loses, no-grant, refused, invalid, unsupported, dormant, and unknown.
A route that lacks its grant applies where the mode of its namespace does not enforce, and the reason says so.

Or show all about one route, of any kind: its parents, what becomes of it on each of their ports, and the findings on it as it is stored. It
also shows the grant of its namespace, and the commands that fix what a command can fix. The findings on a route that lacks its grant are
those with the grant.

The column ACKNOWLEDGED is what the controllers of meshes have answered in the status of the route. It is applied (one of them accepts the
parentRef), refused, stale (an answer about an older generation), or unanswered.

Requests from a Gateway to a Service use the route on the Gateway, and bypass the routes on the Service. These routes have a section of
their own.

The command only reads from the cluster, and reports what you cannot read there.`,
		Example: `  # Describe a Service in the current namespace
  gammaguard describe service/cart

  # Describe a route: why it has no effect, and how to fix it
  gammaguard describe httproute/cart -n shop

  # Describe a Service as JSON
  gammaguard describe service/cart -n shop -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runDescribe(cmd, access, args, output) },
	}
	addOutput(cmd, &output, "text", "text", "json", "yaml")
	access = addInstalled(cmd)
	access.completeArgument(cmd, described)
	return cmd
}

// description is all about a Service or a route.
type description interface {
	Text(w io.Writer) error
}

func runDescribe(cmd *cobra.Command, access *access, args []string, output string) (err error) {
	kind, name := describedRoute(args)
	key, notService := describedService(args)
	if kind == "" && notService != nil {
		const want = "specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME"
		if len(args) == 0 {
			return usage(cmd, errors.New(want))
		}
		return usage(cmd, fmt.Errorf("%s, not %q", want, strings.Join(args, " ")))
	}
	if key.Namespace != "" {
		*access.Namespace = key.Namespace
	}
	live, configuration, _, err := access.connectInstalled(cmd)
	if err != nil {
		return err
	}
	routes, err := live.Routes(live.Current)
	if err != nil {
		return err
	}
	var d description
	if kind != "" {
		d, err = describeRoute(live, configuration, routes, kind, name)
	} else {
		key.Namespace = live.Current
		d, err = describeService(live, configuration, routes, key)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.notice(cmd.ErrOrStderr(), live, true)) }()
	switch out := cmd.OutOrStdout(); output {
	case "json", "yaml":
		return writeData(out, output, d)
	default:
		return d.Text(out)
	}
}

func describeService(live *cluster.Cluster, configuration *config.GuardConfiguration, routes []*manifest.Object, key mesh.ServiceKey) (*describe.Service, error) {
	d, err := describe.Find(live, routes, configuration.Policy(), ownControllers(configuration), key)
	if errors.Is(err, describe.ErrNowhere) {
		return nil, nowhere(live, key)
	}
	if err != nil {
		return nil, err
	}
	d.Notes, d.Unseen = append(d.Notes, live.IneffectiveAt(key)...), live.Unseen()
	return d, nil
}

// nowhere is the error that the Service does not exist, or not even its namespace.
func nowhere(live *cluster.Cluster, key mesh.ServiceKey) error {
	if err := check.NamespaceExists(live, key.Namespace); err != nil {
		return err
	}
	return fmt.Errorf("%s does not exist, and no route names it%s", key, otherServices(live, key))
}

// unseen returns why nothing was found about a namespace, empty for all, if that is not that it has no routes: the reader of files and a cluster lacks
// the namespace, or nothing can be listed there.
func unseen(live *cluster.Cluster, reader mesh.Reader, namespace string) error {
	if err := check.NamespaceExists(reader, namespace); err != nil {
		return err
	}
	_, err := live.Routes(namespace)
	return err
}

// otherServices lists the Services of the namespace, as far as the user can list them.
func otherServices(live *cluster.Cluster, key mesh.ServiceKey) string {
	services, err := live.Services(key.Namespace)
	if err != nil || key.Kind != mesh.ServiceKind {
		return ""
	}
	var others []string
	for _, service := range services {
		if service.Key.Kind == mesh.ServiceKind {
			others = append(others, service.Key.Name)
		}
	}
	return "; the Services there: " + listed(others)
}

// listed names some of them in order, and how many more there are.
func listed(names []string) string {
	const most = 10
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

func describeRoute(live *cluster.Cluster, configuration *config.GuardConfiguration, routes []*manifest.Object, kind mesh.RouteKind, name string) (*describe.OneRoute, error) {
	var others []string
	for _, object := range routes {
		if object.Key.Namespace != live.Current {
			continue
		}
		if object.Route.Kind != kind || object.Key.Name != name {
			others = append(others, object.Route.Kind.Name()+" "+object.Key.Name)
			continue
		}
		d, err := describe.FindRoute(live, configuration, ownControllers(configuration), object)
		if err != nil {
			return nil, err
		}
		d.Notes, d.Unseen = append(d.Notes, live.IneffectiveAt(mesh.ServiceKey{})...), live.Unseen()
		return d, nil
	}
	if err := check.NamespaceExists(live, live.Current); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s %s/%s does not exist, or you cannot read it; the routes that you can read there: %s",
		kind.Name(), live.Current, name, listed(others))
}

// slashed returns httproute/NAME for httproute NAME, and other arguments as they are.
func slashed(args []string) []string {
	if len(args) == 2 && !strings.Contains(args[0]+args[1], "/") {
		return []string{args[0] + "/" + args[1]}
	}
	return args
}

// describedRoute reads httproute/NAME, or httproute NAME as kubectl does. The kind is empty for anything else.
func describedRoute(args []string) (kind mesh.RouteKind, name string) {
	if args = slashed(args); len(args) != 1 {
		return "", ""
	}
	resource, name, _ := strings.Cut(args[0], "/")
	resource, group, _ := strings.Cut(strings.ToLower(resource), ".")
	for _, kind := range mesh.GuardedKinds() {
		named := resource == strings.ToLower(kind.Name()) || resource == kind.Resource()
		if named && name != "" && !strings.Contains(name, "/") && cmp.Or(group, mesh.GatewayGroup) == kind.Group() {
			return kind, name
		}
	}
	return "", ""
}
