package bed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/sumdb/dirhash"
)

// Binaries are programs of other modules, built by a module of this repository that
// requires those, and kept in .cache.
type Binaries struct {
	// Name names them in progress, and their folder under .cache.
	Name string
	// Module is the folder of the module, seen from the repository's.
	Module string
	// Packages are the commands to build there. A binary has the name of its
	// package's folder.
	Packages []string
	// VersionOf is the path of the required module whose version is theirs.
	VersionOf string
	// Release builds that version of VersionOf instead, with the modules that it
	// requires itself. It is one of Kubernetes, such as v1.30.14.
	Release string
}

// controlPlane is the control plane in the version that test/controlplane requires.
var controlPlane = Binaries{
	Name: "controlplane", Module: "test/controlplane", VersionOf: "k8s.io/kubernetes",
	Packages: []string{"./cmd/" + apiServer, "./cmd/etcd", "k8s.io/kubernetes/cmd/kubectl"},
}

const apiServer = "kube-apiserver"

// Build builds the control plane's binaries and returns the folder that they are
// in, as Binaries.Build does.
func Build(ctx context.Context) (string, error) { return controlPlane.Build(ctx) }

// Kubernetes returns the release that test/controlplane requires, such as v1.36.3.
func Kubernetes(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	version, _, err := controlPlane.version(ctx, root)
	return version, err
}

// buildAPIServer builds kube-apiserver of a release of Kubernetes as Binaries.Build
// does, and returns the path of the binary. That of the release that test/controlplane
// requires is the control plane's.
func buildAPIServer(ctx context.Context, release string) (string, error) {
	server := controlPlane
	if required, err := Kubernetes(ctx); err != nil {
		return "", err
	} else if release != required {
		server.Packages, server.Release = server.Packages[:1], release
	}
	dir, err := server.Build(ctx)
	return filepath.Join(dir, apiServer), err
}

// Build builds the binaries and returns the folder that they are in:
// .cache/<name>/<version>-<digest> in the repository. It may take minutes the
// first time, as it reports to standard error; where the binaries are there it does
// nothing. Any number of processes may call it at once: one builds, the
// others wait. A build that is interrupted leaves nothing that looks complete.
func (b *Binaries) Build(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	module := filepath.Join(root, filepath.FromSlash(b.Module))
	version, goMod, err := b.version(ctx, root)
	if err != nil {
		return "", err
	}
	digest, err := b.digest(module, goMod)
	if err != nil {
		return "", fmt.Errorf("read the module in %s: %w", module, err)
	}
	dir := filepath.Join(root, ".cache", b.Name, version+"-"+digest)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unlock, err := lock(filepath.Join(filepath.Dir(dir), "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err != nil {
		if err := b.build(ctx, module, goMod, version, dir); err != nil {
			return "", fmt.Errorf("build the %s: %w", b.Name, err)
		}
	}
	return dir, nil
}

// version returns the version of the binaries, and for a release the go.mod that
// builds it in place of the module's own.
func (b *Binaries) version(ctx context.Context, root string) (version string, goMod []byte, err error) {
	query := b.VersionOf
	if b.Release != "" {
		query += "@" + b.Release
	}
	module := filepath.Join(root, filepath.FromSlash(b.Module))
	out, err := Go(ctx, module, []string{"GOWORK=off"}, "list", "-m", "-f", "{{.Version}} {{.GoMod}}", query)
	version, path, _ := strings.Cut(out, " ")
	if err == nil && b.Release != "" {
		goMod, err = b.releaseModule(path)
	}
	return version, goMod, err
}

// releaseModule returns a go.mod that requires the release, whose own go.mod has the
// path, and so the versions of all else that the release requires. Kubernetes replaces
// the modules of its staging folder by that folder; they are published as v0.30.14
// where it is v1.30.14.
func (b *Binaries) releaseModule(path string) ([]byte, error) {
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

// digest hashes what decides what the binaries are, apart from their version: the
// packages and the module's files, or the go.mod in place of its go.mod and go.sum.
func (b *Binaries) digest(module string, goMod []byte) (string, error) {
	files, err := dirhash.DirFiles(module, "")
	if err != nil {
		return "", err
	}
	if goMod != nil {
		files = slices.DeleteFunc(files, func(name string) bool { return name == "go.mod" || name == "go.sum" })
	}
	hash, err := dirhash.Hash1(files, func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(module, name)) })
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", hash, b.Packages, goMod))
	return hex.EncodeToString(sum[:])[:12], err
}

// build builds the binaries in a folder of their own and then renames that to dir, so
// that dir holds all or does not exist. The caller holds the lock. The version
// goes in by the linker: without it kubectl and the API server cannot tell one
// another's.
func (b *Binaries) build(ctx context.Context, module string, goMod []byte, version, dir string) error {
	unfinished := filepath.Join(filepath.Dir(dir), ".unfinished")
	err := os.RemoveAll(unfinished) // of a build that was interrupted
	if err == nil {
		err = os.Mkdir(unfinished, 0o755)
	}
	// As the Makefile has all compiled, to share the packages. What needs no C library runs in
	// an empty image.
	args := []string{
		"build", "-buildvcs=false", "-trimpath", "-o", unfinished + string(filepath.Separator), "-ldflags", "-s -w" +
			" -X k8s.io/component-base/version.gitVersion=" + version +
			" -X k8s.io/client-go/pkg/version.gitVersion=" + version,
	}
	if err == nil && goMod != nil {
		path := filepath.Join(unfinished, "go.mod")
		err = os.WriteFile(path, goMod, 0o644)
		args = append(args, "-modfile", path, "-mod=mod")
	}
	if err != nil {
		return err
	}
	started := time.Now()
	fmt.Fprintf(os.Stderr, "building the %s %s from its modules: a few minutes, once\n", b.Name, version)
	if _, err := Go(ctx, module, []string{"GOWORK=off", "CGO_ENABLED=0"}, append(args, b.Packages...)...); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "built the %s in %s\n", b.Name, time.Since(started).Round(time.Second))
	return os.Rename(unfinished, dir)
}

// BuildCommand builds a command of this repository, such as gammaguard-webhook,
// from its folder under cmd, and returns the path of the binary. go build leaves
// a binary alone that is up to date.
func BuildCommand(ctx context.Context, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "bin", name)
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	_, err = Go(ctx, root, nil, "build", "-buildvcs=false", "-o", path, "./cmd/"+name)
	return path, err
}

// lock waits until it holds the lock file, which it makes if need be, with its folder.
// The system drops the lock when the process ends, in whatever way.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file := flock.New(path)
	return func() { _ = file.Close() }, file.Lock()
}
