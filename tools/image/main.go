// Command image puts a static binary on an empty base, as an image in an OCI
// archive. It needs no Docker daemon, and the same binary always makes the same
// bytes.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// options say what image to make.
type options struct {
	binary, name, version, revision, user, out string
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "path of the static binary, which becomes the entrypoint")
	flag.StringVar(&o.name, "name", "", "name and tag of the image: gammaguard-webhook:v1.2.3")
	flag.StringVar(&o.version, "version", "", "version, kept as a label")
	flag.StringVar(&o.revision, "revision", "", "commit, kept as a label")
	flag.StringVar(&o.user, "user", "65532:65532", "user and group that it runs as")
	flag.StringVar(&o.out, "o", "", "path of the archive to write")
	flag.Parse()
	if o.binary == "" || o.name == "" || o.out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: image -binary FILE -name NAME:TAG -o ARCHIVE [-version V] [-revision COMMIT] [-user UID:GID]")
		os.Exit(2)
	}
	if err := write(o); err != nil {
		fmt.Fprintln(os.Stderr, "error: make the image:", err)
		os.Exit(1)
	}
}

// write makes the image and writes its archive, in one step.
func write(o options) (err error) {
	image, err := build(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(o.out), ".image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	tag, err := name.NewTag(o.name)
	if err != nil {
		return err
	}
	// Runtimes take the image's name from the annotations of the index.
	oci, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	if err != nil {
		return err
	}
	if err := oci.AppendImage(image, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          fullName(tag),
		"org.opencontainers.image.ref.name": tag.TagStr(),
	})); err != nil {
		return err
	}
	archive := filepath.Join(dir, "archive.tar")
	if err := pack(archive, filepath.Join(dir, "layout")); err != nil {
		return err
	}
	return os.Rename(archive, o.out)
}

// fullName returns the name by which runtimes know the image: a name without a
// registry is one of docker.io's, however that is reached.
func fullName(tag name.Tag) string {
	return strings.Replace(tag.Name(), name.DefaultRegistry+"/", "docker.io/", 1)
}

// build makes the image: one layer with the binary.
func build(o options) (v1.Image, error) {
	data, err := os.ReadFile(o.binary)
	if err != nil {
		return nil, err
	}
	entrypoint := "/" + filepath.Base(o.binary)
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
		Architecture: runtime.GOARCH,
		OS:           "linux",
		RootFS:       rootFS(image),
		Config: v1.Config{
			Entrypoint: []string{entrypoint},
			User:       o.user,
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":    filepath.Base(o.binary),
				"org.opencontainers.image.version":  o.version,
				"org.opencontainers.image.revision": o.revision,
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
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}); err != nil {
		return err
	}
	return w.Close()
}
