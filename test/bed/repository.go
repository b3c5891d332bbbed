package bed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
// builds, a digest of all that decides what the binaries are, and the go.mod to use
// in place of its own, if any.
type sources struct {
	Binaries
	dir, version, digest string
	goMod                []byte
}

// sources reads the module of the binaries in a repository.
func (b Binaries) sources(ctx context.Context, root string) (s sources, err error) {
	s = sources{Binaries: b, dir: filepath.Join(root, filepath.FromSlash(b.Module)), version: b.Release}
	if b.Release == "" {
		s.version, err = b.required(filepath.Join(s.dir, "go.mod"))
	} else {
		s.goMod, err = b.releaseModule(ctx, s.dir)
	}
	if err == nil {
		s.digest, err = s.sum()
	}
	return s, err
}

// required returns the version of VersionOf that a go.mod requires.
func (b Binaries) required(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	module, err := modfile.ParseLax(path, data, nil)
	if err != nil {
		return "", err
	}
	for _, r := range module.Require {
		if r.Mod.Path == b.VersionOf {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s, whose version is theirs", path, b.VersionOf)
}

// releaseModule returns a go.mod for the module in dir that requires the release, and so
// the versions of all else that the release requires. Kubernetes replaces the modules of
// its staging folder by that folder; they are published as v0.30.14 where it is v1.30.14.
func (b Binaries) releaseModule(ctx context.Context, dir string) ([]byte, error) {
	path, err := Go(ctx, dir, []string{"GOWORK=off"}, "list", "-m", "-f", "{{.GoMod}}", b.VersionOf+"@"+b.Release)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	released, err := modfile.Parse(path, data, nil)
	if err != nil {
		return nil, err
	}
	module := &modfile.File{}
	err = errors.Join(
		module.AddModuleStmt(modulePath+"/"+b.Module), module.AddGoStmt(released.Go.Version),
		module.AddRequire(b.VersionOf, b.Release),
	)
	published := "v0." + strings.TrimPrefix(b.Release, "v1.")
	for _, r := range released.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			err = errors.Join(err, module.AddReplace(r.Old.Path, "", r.Old.Path, published))
		}
	}
	if err != nil {
		return nil, err
	}
	return module.Format()
}

// sum hashes the module's files: every Go file, and go.mod and go.sum, or the go.mod
// in their place.
func (s sources) sum() (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		pinned := s.goMod == nil && (name == "go.mod" || name == "go.sum")
		if err != nil || entry.IsDir() || !pinned && filepath.Ext(name) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", relative, len(data), data)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the module in %s: %w", s.dir, err)
	}
	sum.Write(s.goMod)
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
