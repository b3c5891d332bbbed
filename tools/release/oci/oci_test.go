package oci

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

func TestFullName(t *testing.T) {
	for given, want := range map[string]string{
		"gammaguard-webhook:dev":           "docker.io/library/gammaguard-webhook:dev",
		"someone/gammaguard-webhook:v1":    "docker.io/someone/gammaguard-webhook:v1",
		"gammaguard.test/pause:1":          "gammaguard.test/pause:1",
		"registry.test:5000/a/b/c:v1.2.3":  "registry.test:5000/a/b/c:v1.2.3",
		"docker.io/library/without-a-tag":  "docker.io/library/without-a-tag:latest",
		"index.docker.io/library/another:": "",
	} {
		tag, err := name.NewTag(given)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", given, err)
			}
			continue
		}
		if got := fullName(tag); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

// TestWrite makes an archive twice: the bytes are the same, and the image is what a
// runtime needs to start the binary as nobody in particular.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	binary := Binary{filepath.Join(dir, "program"), "arm64"}
	if err := os.WriteFile(binary.Path, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	options := Options{Name: "program:v1", Version: "v1", Revision: "beef", User: "65532:65532"}
	for name, binaries := range map[string][]Binary{"one": {binary}, "several": {binary, {binary.Path, "amd64"}}} {
		t.Run(name, func(t *testing.T) {
			var archives [][]byte
			for _, file := range []string{"first.tar", "second.tar"} {
				path := filepath.Join(dir, file)
				if err := Write(path, options, binaries...); err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				archives = append(archives, data)
			}
			if !bytes.Equal(archives[0], archives[1]) {
				t.Error("the same binary made two archives that differ")
			}
			if has := bytes.Contains(archives[0], []byte(`"platform":{"architecture":"amd64","os":"linux"}`)); has != (len(binaries) > 1) {
				t.Errorf("it has an index of platforms: %t", has)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, ".image-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	image, err := build(options, binary)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{config.OS, config.Architecture, config.Config.User}; !slices.Equal(got, []string{"linux", "arm64", "65532:65532"}) {
		t.Errorf("platform and user: %v", got)
	}
	if !slices.Equal(config.Config.Entrypoint, []string{"/program"}) || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("entrypoint %v in %d layers", config.Config.Entrypoint, len(config.RootFS.DiffIDs))
	}
	if err := Write(filepath.Join(dir, "x.tar"), options, Binary{filepath.Join(dir, "missing"), "arm64"}); err == nil {
		t.Error("no error without a binary")
	}
	if err := Write(filepath.Join(dir, "x.tar"), Options{Name: "no name"}, binary); err == nil {
		t.Error("no error with a malformed name")
	}
}
