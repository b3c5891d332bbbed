package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/answers"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/internal/cli/graph"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

type graphFlags struct {
	inputFlags
	access        *access
	allNamespaces bool
	cluster       bool
	output        string
	// service is the Service that is named, if any; its namespace is that of the flags where it names none.
	service mesh.ServiceKey
}

const graphExamples = `  # Draw the Services and routes in the current namespace
  gammaguard graph

  # Draw all namespaces as a page with a search and a table
  gammaguard graph -A -o html > graph.html

  # Draw one Service
  gammaguard graph service/cart -n shop

  # Draw manifests with Graphviz
  gammaguard graph -f manifests/ -o dot > graph.dot`

func newGraph() *cobra.Command {
	flags := &graphFlags{}
	cmd := &cobra.Command{
		Use:   "graph [service/NAME[.NAMESPACE]]",
		Short: "Draw the routes on Services, and their backends",
		Long: `Draw Service ports, the routes on them, and the backends of these routes, by namespace. A route that loses a port, lacks a grant, or has no
effect for another reason looks different, and has the rule that says so. The page of a live cluster also has what a mesh has answered about each route (see 'gammaguard describe'). A dormant route, which no mesh acts on until it is changed, is
drawn as such. Routes on Gateways that send requests to these Services are drawn too, as bypasses: their requests do not use the routes on the
Service. A Service can be drawn by itself, as service/NAME or
serviceimport/NAME, with .NAMESPACE behind it or not.

Arrows to backends have what a rule matches, and the part of the requests that the backend gets.

The format mermaid is for pages that render Mermaid, and dot for Graphviz. The format html is a page in one file that needs no other. It has
a search, a table, and the classes of requests to each Service. From 60 routes on, it draws one Service at a time. A graph shows at most ` + fmt.Sprint(graph.MaxRoutes) + ` routes.

With -f, -k, or --helm, the command draws manifests, of all namespaces unless -n names one, after mutations. If a namespace is not in the
input, its routes are assumed to have the grant. The configuration and the context of .gammaguard.yaml apply, as in gammaguard check. With --cluster too, it draws the live cluster as it would be after you apply them. Without
input, it draws the live cluster, with the configuration that gammaguard in the cluster runs with. It only reads from the cluster, and
reports what you cannot read there.`,
		Example: graphExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	addAllNamespaces(cmd, &flags.allNamespaces)
	addOutput(cmd, &flags.output, "mermaid", "mermaid", "dot", "html")
	flags.add(cmd)
	flags.access = addWorld(cmd, &flags.cluster, "routes in the input replace those of the cluster; without input, the cluster is read alone")
	flags.access.completeArgument(cmd, services)
	cmd.Flags().Lookup("namespace").Usage = namespaceUsage + currentNamespace + ", or, for files without --cluster, all, and that of the only Service of the name"
	return cmd
}

func (f *graphFlags) run(cmd *cobra.Command, args []string) (err error) {
	named, err := f.complete()
	if err == nil && len(args) > 0 {
		if f.service, err = describedService(args); err != nil && !named {
			err = fmt.Errorf("%w; to draw manifests, use -f, -k, or --helm", err)
		}
	}
	switch {
	case err != nil:
	case f.allNamespaces && f.service.Name != "":
		err = errors.New("--all-namespaces cannot be used with a Service")
	case named && !f.cluster:
		err = f.access.unused(cmd.Flags())
	case named && f.options.Complete:
		err = errors.New("--cluster and --complete cannot be used together")
	}
	if err != nil {
		return usage(cmd, err)
	}
	draw := f.ofCluster
	if named {
		draw = f.ofFiles
	}
	drawn, live, title, err := draw(cmd)
	if drawn != nil {
		defer func() { err = errors.Join(err, f.access.notice(cmd.ErrOrStderr(), live, len(drawn.Rows) > 0)) }()
	}
	switch out := cmd.OutOrStdout(); {
	case err != nil:
		return err
	case len(drawn.Rows) == 0:
		none := "No routes to draw for " + strings.Replace(title, allNamespaces, everywhere, 1)
		if _, err := printable.Fprintf(cmd.ErrOrStderr(), "%s.\n", none); err != nil || f.output != "html" {
			return err
		}
		return drawn.HTML(out, none) // not an empty file
	case f.output == "html":
		return drawn.HTML(out, "Routes of "+title)
	case f.output == "dot":
		return drawn.DOT(out)
	default:
		return drawn.Mermaid(out)
	}
}

// allNamespaces is what a graph of no selected namespace is called.
const allNamespaces = "all namespaces"

// selection returns what to draw in the namespace, or in all if it is empty, and how it
// is called.
func (f *graphFlags) selection(namespace string) (selection graph.Selection, title string) {
	switch {
	case f.service.Name != "":
		f.service.Namespace = namespace
		return graph.Selection{Service: f.service}, f.service.String()
	case namespace == "":
		return graph.Selection{}, allNamespaces
	}
	return graph.Selection{Namespace: namespace}, "namespace " + namespace
}

// asked returns the namespace that the graph is of, empty for all.
func (f *graphFlags) asked(current string) string {
	if f.allNamespaces {
		return ""
	}
	return cmp.Or(f.service.Namespace, current)
}

func (f *graphFlags) ofFiles(cmd *cobra.Command) (*graph.Graph, *cluster.Cluster, string, error) {
	if _, err := f.project(&f.access.config); err != nil {
		return nil, nil, "", err
	}
	live, err := f.access.world(cmd, &f.options, f.cluster)
	if err != nil {
		return nil, nil, "", err
	}
	f.options.Stdin = cmd.InOrStdin()
	namespace := f.asked(f.options.Namespace)
	input, err := check.LoadTraffic(cmd.Context(), &f.options, namespace)
	if err != nil {
		return nil, nil, "", err
	}
	writeNotes(cmd, input.Notes())
	if f.service.Name != "" {
		if err := input.FindNamespace(&f.service, true); err != nil {
			return nil, nil, "", err
		}
		namespace = f.service.Namespace
	}
	selection, title := f.selection(namespace)
	drawn, err := graph.Draw(input.Reader(), input.Routes(), f.options.Config.Policy(), selection, assumed(live), nil)
	if err == nil && live != nil && len(drawn.Rows) == 0 {
		if err = unseen(live, input.Reader(), namespace); err == nil && f.service.Name != "" {
			if _, absent := mesh.FindService(input.Reader(), f.service); errors.Is(absent, mesh.ErrNotFound) {
				err = nowhere(live, f.service)
			}
		}
	}
	return drawn, live, title, err
}

func (f *graphFlags) ofCluster(cmd *cobra.Command) (*graph.Graph, *cluster.Cluster, string, error) {
	if f.service.Namespace != "" {
		*f.access.Namespace = f.service.Namespace
	}
	live, configuration, _, err := f.access.connectInstalled(cmd)
	if err != nil {
		return nil, nil, "", err
	}
	namespace := f.asked(live.Current)
	selection, title := f.selection(namespace)
	if f.service.Name == "" {
		if err := live.Preload(selection.Namespace, true); err != nil {
			return nil, nil, "", err
		}
	}
	objects, err := live.Routes(namespace)
	if err != nil {
		return nil, nil, "", err
	}
	stored, err := check.NewStored(live, objects, configuration.Policy().Mesh)
	if err != nil {
		return nil, nil, "", err
	}
	routes := make([]*mesh.Route, len(objects))
	for i := range objects {
		routes[i] = objects[i].Route
	}
	if key := selection.Service; key.Name != "" && describe.Nowhere(stored, objects, configuration.Policy().Mesh, key) {
		return nil, nil, "", nowhere(live, key)
	}
	drawn, err := graph.Draw(stored, routes, configuration.Policy(), selection, 0, answers.Read(objects, ownControllers(configuration)))
	if err == nil && len(drawn.Rows) == 0 {
		err = check.NamespaceExists(live, selection.Namespace)
	}
	return drawn, live, title, err
}

// assumed are the faults that, in files alone, are assumed not to be there.
func assumed(live *cluster.Cluster) validate.Faults {
	if live != nil {
		return 0
	}
	return validate.Only(validate.GrantMissing) | validate.Only(validate.ConsumerRefused)
}

// describedKinds are the resource names of what can be described and drawn.
var describedKinds = map[string]string{
	"service": mesh.ServiceKind, "services": mesh.ServiceKind, "svc": mesh.ServiceKind,
	"serviceimport": mesh.ServiceImportKind, "serviceimports": mesh.ServiceImportKind,
}

// describedService reads service/NAME, or service NAME as kubectl does, with .NAMESPACE behind it or not, as trace does.
func describedService(args []string) (mesh.ServiceKey, error) {
	args = slashed(args)
	arg := strings.Join(args, " ")
	resource, name, _ := strings.Cut(arg, "/")
	kind := describedKinds[strings.ToLower(resource)]
	name, namespace, qualified := strings.Cut(name, ".")
	if kind == "" || name == "" || qualified && namespace == "" || strings.ContainsAny(name+namespace, "/.") || len(args) > 1 {
		return mesh.ServiceKey{}, fmt.Errorf("specify one service/NAME or serviceimport/NAME, not %q", arg)
	}
	return mesh.ServiceKey{Kind: kind, Namespace: namespace, Name: name}, nil
}
