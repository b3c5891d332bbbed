package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// traceFlags are the flags of the trace command.
type traceFlags struct {
	inputFlags
	request traffic.Request
	path    string
	headers []string
	grpc    string
	output  string
	cluster bool
	access  *access
}

const traceLong = `Show where a request to a Service port goes: the match that decides, the backends with their shares, and what filters
change. It also shows each rule that does not decide, with the reason.

SERVICE is the name of a Service, alone or as service/NAME, svc/NAME, serviceimport/NAME, or service NAME, with .NAMESPACE behind it or not. PORT is its
number or its name; a Service with one port needs none. A URL has the path, the query, and the Host header of the request, too.

Without -f, -k, and --helm, the command reads the live cluster, with the configuration that gammaguard in the cluster runs with. With them,
it reads the files alone, or with --cluster, the live cluster as it would be after you apply the files. With files, the configuration and the
context of .gammaguard.yaml apply, as in gammaguard check. For which requests a change sends somewhere else, use gammaguard diff.

The request is compared with all routes of the input, after mutations. The most specific route kind owns the port, and consumer routes of
the client's namespace replace producer routes. The match with the highest precedence decides. Routes that lack the required grant, or that
the API server rejects by their CustomResourceDefinition, have no effect. The output notes what the outcome depends on if the input does not
say it, for example which of two routes is older.

With --from-gateway, the request comes from a Gateway. Such a request uses the routes on the Gateway, and reaches the Service as a backend,
without the routes whose parent is the Service. The output lists the routes on Gateways that send requests to the port.

Exit codes: 0 if the request can be traced, 2 if the usage is invalid, the Service port does not exist, or input cannot be read.`

const traceExamples = `  # Trace a request from a client in namespace faces
  gammaguard trace service/cart:80 --from faces --method POST --path /v2/items -H 'tenant: gold' -f manifests/

  # Trace a gRPC call in what kustomize builds
  gammaguard trace service/cart:80 -n shop --grpc shop.Cart/AddItem -k overlays/production

  # Trace a request in what Helm renders
  gammaguard trace service/cart:80 -n shop --helm charts/shop --values production.yaml

  # Show which routes on Gateways send requests to a Service port, and bypass its mesh routes
  gammaguard trace service/cart.shop:80 --from-gateway -f manifests/

  # Trace a request in the live cluster
  gammaguard trace 'http://cart.shop/v2/items?color=blue'

  # Trace a request to the port named http of a Service in the current namespace
  gammaguard trace cart:http --path /v2/items

  # Trace a request in the live cluster as it would be after you apply manifests
  gammaguard trace service/cart.shop:80 -f manifests/ --cluster`

func newTrace() *cobra.Command {
	flags := &traceFlags{}
	cmd := &cobra.Command{
		Use:     "trace (SERVICE[:PORT] | http://SERVICE.NAMESPACE[:PORT][/PATH]) [(-f PATH | -k DIRECTORY | --helm CHART)...]",
		Short:   "Show where a request to a Service port goes",
		Long:    traceLong,
		Example: traceExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	set.StringVar(&flags.request.From, "from", "", "namespace of the client; if empty, the namespace of the Service")
	set.BoolVar(&flags.request.FromGateway, "from-gateway", false, "show which routes on Gateways send requests to the Service, instead of the request of a client in the mesh")
	set.StringVarP(&flags.request.Method, "method", "X", "", "HTTP method; if empty, GET")
	set.StringVar(&flags.path, "path", "/", "path, with or without a query")
	set.StringArrayVarP(&flags.headers, "header", "H", nil, "header of the request, as 'name: value'; this flag can be repeated")
	set.StringVar(&flags.grpc, "grpc", "", "make the request a gRPC call of SERVICE/METHOD")
	set.StringVar(&flags.request.ServerName, "server-name", "", "server name that a TLS client asks for (SNI); meshes that match the hostnames of TLSRoutes, by --mesh, compare it")
	flags.add(cmd)
	addOutput(cmd, &flags.output, "text", "text", "json", "yaml")
	flags.access = addWorld(cmd, &flags.cluster, "routes in the input replace those of the cluster; without input, the cluster is read alone")
	flags.access.completeArgument(cmd, targets)
	complete(cmd, "from", flags.access.completer(namespaces))
	set.Lookup("namespace").Usage = namespaceUsage + currentNamespace + ", or, for files, that of the only Service of the name"
	return cmd
}

func (f *traceFlags) run(cmd *cobra.Command, args []string) (err error) {
	if len(args) == 2 && describedKinds[strings.ToLower(args[0])] != "" {
		args = slashed(args)
	}
	options := &f.options
	options.Stdin = cmd.InOrStdin()
	if err := f.validate(cmd, args); err != nil {
		return usage(cmd, err)
	}
	if f.named() {
		if _, err := f.project(&f.access.config); err != nil {
			return err
		}
	}
	live, err := f.access.world(cmd, options, f.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(f.access.notice(cmd.ErrOrStderr(), live, true), err) }()
	trace, err := check.Trace(cmd.Context(), options, f.request)
	if err != nil && live != nil {
		key := f.request.Service
		key.Namespace = cmp.Or(key.Namespace, options.Namespace)
		if _, absent := mesh.FindService(live, key); errors.Is(absent, mesh.ErrNotFound) && check.NamespaceExists(live, key.Namespace) == nil &&
			check.NamespaceExists(live, cmp.Or(f.request.From, key.Namespace)) == nil {
			err = fmt.Errorf("%w%s", err, otherServices(live, key))
		}
	}
	if err != nil {
		return err
	}
	if isData(f.output) {
		return writeData(cmd.OutOrStdout(), f.output, trace)
	}
	_, err = printable.Fprintf(cmd.OutOrStdout(), "%s", printable.Layout(trace.String()))
	return err
}

// validate reads the request.
func (f *traceFlags) validate(cmd *cobra.Command, args []string) error {
	named, err := f.complete()
	switch set := cmd.Flags(); {
	case err != nil:
		return err
	case len(args) > 1:
		return errors.New("specify one Service port; name files with -f, -k, or --helm, and the path of the request with --path")
	case len(args) == 0:
		return errors.New("specify one Service port, such as service/cart:80, cart.shop:http, or http://cart.shop/path")
	case f.options.Complete && (f.cluster || !named):
		return errors.New("--complete has no effect without files, and cannot be used with --cluster")
	case f.request.FromGateway && set.Changed("from"):
		return errors.New("--from-gateway cannot be used with --from")
	case f.grpc != "" && (set.Changed("method") || set.Changed("path")):
		return errors.New("--grpc cannot be used with --method or --path")
	case named && !f.cluster:
		if err := f.access.unused(set); err != nil {
			return err
		}
	}
	f.cluster = f.cluster || !named
	errs := []error{f.target(cmd.Flags(), args[0])}
	for _, header := range f.headers {
		errs = append(errs, f.request.AddHeader(header))
	}
	if f.grpc != "" {
		errs = append(errs, f.request.SetGRPC(f.grpc))
	}
	return errors.Join(errs...)
}

// target reads whom the request is sent to, and its path.
func (f *traceFlags) target(set *pflag.FlagSet, text string) error {
	if err := f.request.SetTarget(text, ""); err != nil {
		return err
	}
	if !strings.Contains(text, "://") {
		return f.request.SetPath(f.path)
	}
	if set.Changed("path") || f.grpc != "" {
		return errors.New("--path and --grpc cannot be used with a URL, which has a path")
	}
	if f.request.Service.Namespace == "" && !set.Changed("namespace") {
		f.request.Service.Namespace = f.request.From // as names are resolved there
	}
	return nil
}
