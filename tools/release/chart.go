package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// chart writes the Helm chart, which config/chart makes, as an archive that Helm reads.
func (r *release) chart() error {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	//nolint:gosec,noctx // the repository's own program, which ends by itself
	generate := exec.Command("go", "run", "./config/chart/gen", "-version", r.version, "-image", r.image, "-o", folder)
	generate.Dir = root
	if out, err := generate.CombinedOutput(); err != nil {
		return fmt.Errorf("chart: %w: %s", err, out)
	}
	var files []file
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		files = append(files, file{path.Join(cli, name), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	data, err := tarGzip(files)
	if err != nil {
		return err
	}
	return r.write(cli+"-"+strings.TrimPrefix(r.version, "v")+".tgz", data)
}
