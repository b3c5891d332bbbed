package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// chart writes the Helm chart as an archive, as `helm package` does, for the version and the
// image of the release.
func (r *release) chart() error {
	chart := os.DirFS(filepath.Join(r.root, "charts", cli))
	var files []file
	err := fs.WalkDir(chart, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(chart, name)
		if err != nil {
			return err
		}
		data, err = r.stamp(name, data)
		files = append(files, file{path.Join(cli, name), 0o644, data})
		return err
	})
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	data, err := tarGzip(files)
	if err != nil {
		return err
	}
	return r.write(cli+"-"+strings.TrimPrefix(r.version, "v")+".tgz", data)
}

// stamp returns a file of the chart with what is the release's in it. The rest stays as it
// is, comments included: users read values.yaml.
func (r *release) stamp(name string, data []byte) ([]byte, error) {
	lines := map[string]map[string]string{
		"Chart.yaml": {
			"\nversion: 0.0.0-dev\n": fmt.Sprintf("\nversion: %q\n", strings.TrimPrefix(r.version, "v")),
			"\nappVersion: dev\n":    fmt.Sprintf("\nappVersion: %q\n", r.version),
		},
		"values.yaml": {
			"\n  repository: gammaguard-webhook\n": fmt.Sprintf("\n  repository: %q\n", r.image),
			"\n  tag: dev\n":                       fmt.Sprintf("\n  tag: %q\n", r.version),
		},
	}
	text := string(data)
	for before, after := range lines[name] {
		if strings.Count(text, before) != 1 {
			return nil, fmt.Errorf("%s: want the line %q once", name, strings.TrimSpace(before))
		}
		text = strings.Replace(text, before, after, 1)
	}
	return []byte(text), nil
}
