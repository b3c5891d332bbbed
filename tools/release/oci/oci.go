// Package oci puts static binaries on an empty base, as an image in an OCI archive. It
// needs no Docker daemon, and the same binaries always make the same bytes.
package oci

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Options say what every image of an archive has alike.
type Options struct {
	// Name is the name and tag: "gammaguard-webhook:v1.2.3".
	Name string
	// Version and Revision, a commit, are kept as labels.
	Version, Revision string
	// User is the user and group that it runs as: "65532:65532".
	User string
}

// Binary is a static binary for Linux, which becomes the entrypoint.
type Binary struct {
	Path string
	// Arch is the processor that it is for, as Go names it: "arm64".
	Arch string
}

// Write makes an image of each binary, and writes the archive at path in one step: with
// one binary it holds the image, with several an index of them.
func Write(path string, o Options, binaries ...Binary) error {
	tag, err := name.NewTag(o.Name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	oci, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	if err != nil {
		return err
	}
	// Runtimes take the image's name from the annotations of the index.
	named := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          fullName(tag),
		"org.opencontainers.image.ref.name": tag.TagStr(),
	})
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, binary := range binaries {
		image, err := build(o, binary)
		if err != nil {
			return err
		}
		if len(binaries) == 1 {
			err = oci.AppendImage(image, named)
		}
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: binary.Arch}},
		})
	}
	if len(binaries) != 1 {
		if err := oci.AppendIndex(index, named); err != nil {
			return err
		}
	}
	archive := filepath.Join(dir, "archive.tar")
	if err := pack(archive, filepath.Join(dir, "layout")); err != nil {
		return err
	}
	return os.Rename(archive, path)
}

// fullName returns the name by which runtimes know the image: a name without a
// registry is one of docker.io's, however that is reached.
func fullName(tag name.Tag) string {
	return strings.Replace(tag.Name(), name.DefaultRegistry+"/", "docker.io/", 1)
}

// build makes the image: one layer with the binary.
func build(o Options, binary Binary) (v1.Image, error) {
	data, err := os.ReadFile(binary.Path)
	if err != nil {
		return nil, err
	}
	entrypoint := "/" + filepath.Base(binary.Path)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var buffer bytes.Buffer
		w := tar.NewWriter(&buffer)
		header := &tar.Header{Name: entrypoint[1:], Mode: 0o555, Size: int64(len(data)), ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
		return io.NopCloser(&buffer), w.Close()
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: binary.Arch,
		OS:           "linux",
		RootFS:       rootFS(image),
		Config: v1.Config{
			Entrypoint: []string{entrypoint},
			User:       o.User,
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":    filepath.Base(binary.Path),
				"org.opencontainers.image.version":  o.Version,
				"org.opencontainers.image.revision": o.Revision,
			},
		},
	})
}

func rootFS(image v1.Image) v1.RootFS { // of an image that was just put together
	config, err := image.ConfigFile()
	if err != nil {
		return v1.RootFS{Type: "layers"}
	}
	return config.RootFS
}

// pack writes the files of a folder into a tar archive, without owners and times.
func pack(archive, dir string) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	w := tar.NewWriter(file)
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}); err != nil {
		return err
	}
	return w.Close()
}
