package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
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

// TestWrite makes an image twice: the bytes are the same, and the image is what a
// runtime needs to start the binary as nobody in particular.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "program")
	if err := os.WriteFile(binary, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	var archives [][]byte
	for _, file := range []string{"first.tar", "second.tar"} {
		o := options{binary: binary, name: "program:v1", version: "v1", revision: "beef", user: "65532:65532", out: filepath.Join(dir, file)}
		if err := write(o); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(o.out)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same binary made two archives that differ")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".image-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	image, err := build(options{binary: binary, name: "program:v1", version: "v1", revision: "beef", user: "65532:65532"})
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{config.OS, config.Architecture, config.Config.User}; !slices.Equal(got, []string{"linux", runtime.GOARCH, "65532:65532"}) {
		t.Errorf("platform and user: %v", got)
	}
	if !slices.Equal(config.Config.Entrypoint, []string{"/program"}) || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("entrypoint %v in %d layers", config.Config.Entrypoint, len(config.RootFS.DiffIDs))
	}
	if err := write(options{binary: filepath.Join(dir, "missing"), name: "program:v1", out: filepath.Join(dir, "x.tar")}); err == nil {
		t.Error("no error without a binary")
	}
	if err := write(options{binary: binary, name: "no name", out: filepath.Join(dir, "x.tar")}); err == nil {
		t.Error("no error with a malformed name")
	}
}
