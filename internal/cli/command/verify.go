package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/cli/verify"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// verifyFlags are the flags of the verify command.
type verifyFlags struct {
	inputFlags
	from    string
	output  string
	cluster bool
	access  *access
}

const verifyLong = `Compare what gammaguard says of requests with what the proxies of your mesh were given. For each class of requests for which they differ, the
output has both answers and an example request in the form of the arguments of gammaguard trace.

FILE is one of these; - reads standard input:

- for Istio, the config_dump of Envoy's admin interface, or the output of istioctl proxy-config routes -o json, from one sidecar or waypoint
- for Cilium, its CiliumEnvoyConfig objects, in YAML or JSON
- for Kuma, the MeshHTTPRoute objects that it makes of HTTPRoutes, in YAML or JSON
- for Linkerd, the output of linkerd diagnostics policy for a Service port, in YAML or JSON

Without -f, -k, and --helm, the routes are those of the live cluster; with --cluster too, the files replace routes of the cluster. Without
FILE, the command reads the CiliumEnvoyConfigs or MeshHTTPRoutes of the cluster. With files, the configuration and the context of
.gammaguard.yaml apply, as in gammaguard check.

Without --mesh and without a mesh in the configuration, the mesh is the one that FILE is from. Requests of HTTP and gRPC are compared; connections,
retries, session persistence, and CORS are not. Values of headers that only the proxies have are hidden.

Exit codes: 0 if no class of requests differs, 1 if one does, 2 if the usage is invalid, input cannot be read, or there is nothing to compare.`

const verifyExamples = `  # Compare a sidecar of Istio with the routes in the cluster
  istioctl proxy-config routes deploy/web -n faces -o json | gammaguard verify - --from faces --cluster

  # Compare the config_dump of a sidecar with manifests
  gammaguard verify config_dump.json -f manifests/

  # Compare the CiliumEnvoyConfigs or MeshHTTPRoutes of the cluster with its routes
  gammaguard verify --cluster

  # Compare objects in a file, and write JSON
  gammaguard verify ciliumenvoyconfigs.yaml -f manifests/ -o json

  # Compare what Linkerd gives the clients of a Service port
  linkerd diagnostics policy -n shop svc/cart 80 -o json | gammaguard verify - -f manifests/`

func newVerify() *cobra.Command {
	flags := &verifyFlags{}
	cmd := &cobra.Command{
		Use:     "verify [FILE] [(-f PATH | -k DIRECTORY | --helm CHART)...]",
		Short:   "Compare what gammaguard says with what the proxies of your mesh were given",
		Long:    verifyLong,
		Example: verifyExamples,
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	set := cmd.Flags()
	set.StringVar(&flags.from, "from", "", "namespace of the clients; required for the output of istioctl; if empty, the namespace in the config_dump, the namespace of the Service for Linkerd, or else every namespace with routes")
	flags.add(cmd)
	addOutput(cmd, &flags.output, "text", "text", "json", "yaml")
	flags.access = addWorld(cmd, &flags.cluster, "routes in the input replace those of the cluster; without input, the cluster is read alone")
	complete(cmd, "from", flags.access.completer(namespaces))
	set.Lookup("namespace").Usage = namespaceUsage + "\"default\", or with --cluster " + currentNamespace
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, args []string) (err error) {
	options := &f.options
	options.Stdin = cmd.InOrStdin()
	if err := f.validate(cmd, args); err != nil {
		return usage(cmd, err)
	}
	var given *proxies.Given
	if len(args) > 0 {
		if given, err = readGiven(args[0], cmd.InOrStdin()); err != nil {
			return err
		}
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
	result, err := f.compare(cmd.Context(), given)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		result.File = args[0]
	}
	words := append(again(cmd, inputNames), "--mesh", printable.Shell(result.Mesh)) // which FILE may name alone
	result.Flags = strings.Join(append(words, again(cmd, judging, "mesh")...), " ")
	if isData(f.output) {
		err = writeData(cmd.OutOrStdout(), f.output, result)
	} else {
		err = result.Text(cmd.OutOrStdout(), colorful(cmd.OutOrStdout()))
	}
	if err == nil && result.Summary.Differ > 0 {
		return errFindings
	}
	return err
}

// compare compares what the proxies were given, or what the cluster says of that, with the input.
func (f *verifyFlags) compare(ctx context.Context, given *proxies.Given) (*report.Verification, error) {
	options := &f.options
	var name mesh.ProfileName
	if profile := mesh.FindProfile(options.Config.Mesh); profile != nil {
		name = profile.Name
	}
	if given == nil {
		live, ok := options.Cluster.(*cluster.Cluster)
		if !ok { // validate wants --cluster
			return nil, errors.New("no cluster")
		}
		objects, err := live.Given(ctx, name)
		if err != nil {
			return nil, err
		}
		if given, err = proxies.FromObjects(objects); err != nil {
			return nil, fmt.Errorf("the cluster: %w", err)
		}
	}
	switch {
	case name == "":
		options.Config = withMesh(options.Config, given.Mesh)
	case name != given.Mesh:
		return nil, fmt.Errorf("what the proxies were given is from %s, and the mesh of the configuration is %s; specify --mesh %s", given.Mesh, options.Config.Mesh, given.Mesh)
	}
	if f.from == "" && given.Client == "" && given.Mesh == mesh.Istio {
		return nil, errors.New("the proxy's namespace is not known; specify it with --from")
	}
	now, err := check.LoadTraffic(ctx, options, append(given.Namespaces(), f.from, "")...)
	if err == nil && options.Cluster != nil {
		err = check.NamespaceExists(now.Reader(), f.from)
	}
	if err != nil {
		return nil, err
	}
	result, err := verify.Compare(ctx, &verify.Options{
		Given: given, Table: now.Configured(), Reader: now.Reader(), Profile: mesh.FindProfile(options.Config.Mesh), From: f.from,
	})
	if err != nil {
		return nil, err
	}
	result.Mesh = string(options.Config.Mesh)
	for _, note := range now.Notes() {
		result.Note("%s", note)
	}
	return result, nil
}

// withMesh returns the configuration, which names no mesh, with this one.
func withMesh(of *config.GuardConfiguration, name mesh.ProfileName) *config.GuardConfiguration {
	out := *of
	out.Mesh = name
	if slices.Equal(of.RouteKinds, config.Default().RouteKinds) {
		out.RouteKinds = config.Default(config.WithMesh(name)).RouteKinds
	}
	return &out
}

// readGiven reads a file that the user named, or standard input.
func readGiven(name string, stdin io.Reader) (*proxies.Given, error) {
	in := stdin
	if name != source.Stdin {
		if err := repository.New("", name).Check(name); err != nil { // a link out of a repository, for one
			return nil, err
		}
		file, err := os.Open(name) //nolint:gosec // the user named it
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it is only read
		in = file
	} else {
		name = "standard input"
	}
	data, err := io.ReadAll(io.LimitReader(in, proxies.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return proxies.Read(name, data)
}

func (f *verifyFlags) validate(cmd *cobra.Command, args []string) error {
	named, err := f.complete()
	f.cluster = f.cluster || !named
	switch set := cmd.Flags(); {
	case err != nil:
		return err
	case len(args) > 1:
		return errors.New("specify one file with what the proxies were given")
	case len(args) == 0 && !f.cluster:
		return errors.New("specify a file with what the proxies were given, or use --cluster")
	case f.cluster && f.options.Complete:
		return errors.New("--cluster and --complete cannot be used together")
	case len(args) == 1 && args[0] == source.Stdin && slices.Contains(f.options.Files, source.Stdin):
		return errors.New("standard input can be read only once")
	case !f.cluster:
		return f.access.unused(set)
	}
	return nil
}
