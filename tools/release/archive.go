package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// epoch is the time of every file in an archive, the first that a zip archive can hold.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// archiveName returns the name of the archive of the command line for the platform.
func (r *release) archiveName(p platform) string {
	suffix := ".tar.gz"
	if p.os == "windows" {
		suffix = ".zip"
	}
	return cli + "-" + r.version + "-" + p.String() + suffix
}

// archives writes an archive of the command line for each platform, with the license.
func (r *release) archives() error {
	for _, p := range r.platforms {
		if !r.has(cli, p) {
			continue
		}
		program, err := os.ReadFile(r.binary(cli, p))
		if err != nil {
			return err
		}
		license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
		if err != nil {
			return err
		}
		files := []file{{"LICENSE", 0o644, license}, {filepath.Base(r.binary(cli, p)), 0o755, program}}
		pack := tarGzip
		if p.os == "windows" {
			pack = zipped
		}
		data, err := pack(files)
		if err != nil {
			return fmt.Errorf("archive for %s: %w", p, err)
		}
		if err := r.write(r.archiveName(p), data); err != nil {
			return err
		}
	}
	return nil
}

// file is one to archive.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

func tarGzip(files []file) ([]byte, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: epoch}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return archive.Bytes(), err
}

func zipped(files []file) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}
