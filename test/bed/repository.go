package bed

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"
)

// modulePath is this repository's main module.
const modulePath = "github.com/gammaguard/gammaguard"

// Root returns the folder of the repository that the working directory is in.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && modfile.ModulePath(data) == modulePath {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: neither %s nor a folder above it holds the go.mod of %s", start, modulePath)
		}
	}
}

// ModuleDir returns the folder of the required module that a package is in. Listing a
// package fetches its module if it is not in the cache.
func ModuleDir(ctx context.Context, path string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return Go(ctx, root, nil, "list", "-f", "{{.Module.Dir}}", path)
}

// Go runs the go command in a folder, with additions to the environment, and
// returns what it prints. It ends in order with the context.
func Go(ctx context.Context, dir string, environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w: %s", strings.Join(args, " "), dir, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// CustomResourceDefinitions returns the definitions that a control plane with the
// options has installed: those in the modules which the main module requires.
func CustomResourceDefinitions(ctx context.Context, o Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	dir, err := ModuleDir(ctx, "sigs.k8s.io/gateway-api/apis/v1")
	if err != nil {
		return nil, err
	}
	channel := "standard"
	if o.Experimental {
		channel = "experimental"
	}
	install := envtest.CRDInstallOptions{Paths: []string{filepath.Join(dir, "config", "crd", channel)}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&install); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinitions of the Gateway API: %w", err)
	}
	definitions := install.CRDs
	slices.SortFunc(definitions, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	if o.MultiCluster {
		for _, data := range [][]byte{mcscrd.ServiceImportCRD, mcscrd.ServiceExportCRD} {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(data, definition); err != nil {
				return nil, fmt.Errorf("read the CustomResourceDefinitions of mcs-api: %w", err)
			}
			definitions = append(definitions, definition)
		}
	}
	for _, definition := range definitions {
		for i := range definition.Spec.Versions {
			definition.Spec.Versions[i].Served = definition.Spec.Versions[i].Served || o.AllVersions
		}
	}
	return definitions, nil
}

// Main is the body of the main function of a command of the tests: it runs the
// command until that ends or the process gets a signal, and exits with 1 after an error.
func Main(run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
