package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/ignore"

	"github.com/gammaguard/gammaguard/internal/cli/build"
)

// What a chart may hold: entries of folders, and bytes.
const (
	maxChartEntries = 10_000
	maxChartSize    = 64 << 20
)

// chartReader reads the files of a chart.
type chartReader struct {
	*Input
	folder string
	rules  *ignore.Rules
	// weight is that of the patterns, and compared counts how often they were compared with a name.
	weight, compared int
	files            []build.File
	entries          int
	size             int
}

// chartFiles returns the files of the chart in the folder that .helmignore does not name. Links
// are followed inside the repository.
func (in *Input) chartFiles(folder string) ([]build.File, error) {
	r := &chartReader{Input: in, folder: folder, rules: ignore.Empty()}
	return r.all()
}

func (r *chartReader) all() ([]build.File, error) {
	text, err := r.Disk.Read(filepath.Join(r.folder, ignore.HelmIgnore))
	if err == nil {
		patterns, err := Patterns(text)
		if err == nil {
			r.weight = Weight(patterns...)
			r.rules, err = ignore.Parse(bytes.NewReader(text))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.rules.AddDefaults()
	resolved, _, err := r.Files.Resolve(r.folder)
	if err != nil {
		return nil, err
	}
	return r.files, r.read("", []string{resolved})
}

// read reads a folder of the chart, which is reached by way of the others.
func (r *chartReader) read(within string, way []string) error {
	entries, err := os.ReadDir(way[len(way)-1])
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if r.entries++; r.entries > maxChartEntries {
			return fmt.Errorf("it has more than %d files", maxChartEntries)
		}
		name := path.Join(within, entry.Name())
		if r.compared += Comparisons(r.weight, name); r.compared > maxHelmCompared {
			return fmt.Errorf("%s: %w", ignore.HelmIgnore, ErrCompared)
		}
		file := filepath.Join(r.folder, filepath.FromSlash(name))
		resolved, isFolder, err := r.Files.Resolve(file)
		if err == nil {
			err = r.entry(name, file, resolved, isFolder, way)
		} else if info, statErr := entry.Info(); statErr == nil && r.rules.Ignore(name, info) {
			err = nil // it is left out
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *chartReader) entry(name, file, resolved string, isFolder bool, way []string) error {
	info, err := os.Lstat(resolved)
	switch {
	case err != nil:
		return err
	case r.rules.Ignore(name, info):
		return nil
	case isFolder && slices.Contains(way, resolved):
		return fmt.Errorf("%s is a link to a directory that it is in", file)
	case isFolder:
		return r.read(name, append(slices.Clip(way), resolved))
	}
	data, err := readable{r.Input, nil}.ReadFile(file)
	if err != nil {
		return err
	}
	if r.taken != nil && !isPassedOver(name) {
		r.taken.render(resolved)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if r.size += Size(data); r.size > maxChartSize {
		return fmt.Errorf("it has more than %d MiB", maxChartSize>>20)
	}
	r.files = append(r.files, build.File{Name: name, Data: data})
	return nil
}

// isPassedOver reports whether Helm passes over the file: one of a chart in the chart whose folder begins with "_" or ".".
func isPassedOver(name string) bool {
	for {
		_, in, is := strings.Cut("/"+name, "/charts/")
		if !is {
			return false
		}
		if name = in; strings.IndexAny(name, "_.") == 0 {
			return true
		}
	}
}
