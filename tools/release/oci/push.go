package oci

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Digest returns the digest of the image, or of the index of images, in the archive.
func Digest(archive string) (string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s has no index.json: not an OCI archive", archive)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", archive, err)
		}
		if filepath.Clean(header.Name) != "index.json" {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(reader).Decode(&index); err != nil || len(index.Manifests) != 1 {
			return "", fmt.Errorf("%s: index.json: want one manifest (%v)", archive, err)
		}
		return index.Manifests[0].Digest.String(), nil
	}
}

// Push pushes the image, or the index of images, of the archive to a registry under the name and tag, with the
// credentials that docker login or podman login has stored. It returns its digest.
func Push(ctx context.Context, archive, image string) (string, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if err := unpack(archive, folder); err != nil {
		return "", err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	digest := manifest.Manifests[0].Digest
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if manifest.Manifests[0].MediaType.IsIndex() {
		inner, err := index.ImageIndex(digest)
		if err != nil {
			return "", err
		}
		return digest.String(), remote.WriteIndex(tag, inner, options...)
	}
	inner, err := index.Image(digest)
	if err != nil {
		return "", err
	}
	return digest.String(), remote.Write(tag, inner, options...)
}

// unpack writes the files of the archive below the folder.
func unpack(archive, folder string) error {
	if _, err := Digest(archive); err != nil {
		return err
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is lost
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag == tar.TypeReg:
			if err := errors.Join(root.MkdirAll(filepath.Dir(header.Name), 0o700), copyTo(root, header.Name, reader)); err != nil {
				return err
			}
		}
	}
}

func copyTo(root *os.Root, name string, from io.Reader) error {
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
