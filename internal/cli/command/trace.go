package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/printable"
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

const traceLong = `Show where a request to a Service port goes: the match that decides, the backends with their shares, what filters change, and each rule
that does not decide, with the reason.

The request is compared with all routes of the input, after mutations: the most specific route kind owns the port, consumer routes of the
client's namespace replace producer routes, and the match with the highest precedence decides. Routes that lack the required grant, or that
the API server rejects by their CustomResourceDefinition, have no effect. The output notes what the outcome depends on if the input does
not say it, for example which of two routes is older.

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
  gammaguard trace service/cart:80 -n shop --path '/v2/items?color=blue' --cluster

  # Trace a request in the live cluster as it would be after you apply manifests
  gammaguard trace service/cart.shop:80 -f manifests/ --cluster`

func newTrace() *cobra.Command {
	flags := &traceFlags{output: "text"}
	cmd := &cobra.Command{
		Use:     "trace service/NAME:PORT (-f PATH | -k FOLDER | --helm CHART | --cluster)...",
		Short:   "Show where a request to a Service port goes",
		Long:    traceLong,
		Example: traceExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	set.StringVar(&flags.request.From, "from", "", "namespace of the client; if empty, the namespace of the Service")
	set.BoolVar(&flags.request.FromGateway, "from-gateway", false, "show which routes on Gateways send requests to the Service, instead of the request of a client in the mesh")
	set.StringVar(&flags.request.Method, "method", "", "HTTP method; if empty, GET")
	set.StringVar(&flags.path, "path", "/", "path, with or without a query")
	set.StringArrayVarP(&flags.headers, "header", "H", nil, "header of the request, as 'name: value'; this flag can be repeated")
	set.StringVar(&flags.grpc, "grpc", "", "make the request a gRPC call of SERVICE/METHOD")
	set.StringVar(&flags.request.ServerName, "server-name", "", "server name that a TLS client asks for (SNI); meshes that match the hostnames of TLSRoutes, by --mesh, compare it")
	flags.add(cmd, "read")
	set.BoolVar(&flags.cluster, "cluster", false, "read the live cluster; routes in the input replace those of the cluster; the command only reads")
	addChoice(cmd, &flags.output, "output", "o", "output format: text or json", "text", "json")
	flags.access = addWorld(cmd)
	set.Lookup("namespace").Usage = "namespace of the Service, and of objects that do not set one; if empty, that of the only Service of the name in the input, or the namespace of the current context with --cluster"
	return cmd
}

func (f *traceFlags) run(cmd *cobra.Command, args []string) (err error) {
	options := &f.options
	options.Stdin = cmd.InOrStdin()
	if err := f.validate(cmd, args); err != nil {
		return usage(cmd, err)
	}
	end, err := f.access.world(cmd, options, f.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(end(), err) }()
	trace, err := check.Trace(cmd.Context(), options, f.request)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(cmd.OutOrStdout(), trace)
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
	case len(args) != 1:
		return errors.New("specify one Service port, such as service/cart:80")
	case !named && !f.cluster:
		return errors.New("nothing to read: specify files or directories with -f, -k, or --helm, or use --cluster")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case f.request.FromGateway && set.Changed("from"):
		return errors.New("--from-gateway cannot be used with --from")
	case f.grpc != "" && (set.Changed("method") || set.Changed("path")):
		return errors.New("--grpc cannot be used with --method or --path")
	case !f.cluster:
		if err := f.access.unused(set); err != nil {
			return err
		}
	}
	errs := []error{f.request.SetTarget(args[0], ""), f.request.SetPath(f.path)}
	for _, header := range f.headers {
		errs = append(errs, f.request.AddHeader(header))
	}
	if f.grpc != "" {
		errs = append(errs, f.request.SetGRPC(f.grpc))
	}
	return errors.Join(errs...)
}
