package bed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// sources is the module that builds binaries: where it is, the version of what it
// builds, and a digest of all that decides what the binaries are.
type sources struct {
	Binaries
	dir, version, digest string
}

// sources reads the module of the binaries in a repository.
func (b Binaries) sources(root string) (sources, error) {
	s := sources{Binaries: b, dir: filepath.Join(root, filepath.FromSlash(b.Module))}
	path := filepath.Join(s.dir, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	module, err := modfile.ParseLax(path, data, nil)
	if err != nil {
		return s, err
	}
	for _, r := range module.Require {
		if r.Mod.Path == b.VersionOf {
			s.version = r.Mod.Version
		}
	}
	if s.version == "" {
		return s, fmt.Errorf("%s does not require %s, whose version is theirs", path, b.VersionOf)
	}
	s.digest, err = digest(s.dir)
	return s, err
}

// digest hashes the module's files: go.mod, go.sum and every Go file.
func digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || entry.IsDir() || name != "go.mod" && name != "go.sum" && filepath.Ext(name) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", relative, len(data), data)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the module in %s: %w", dir, err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
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
