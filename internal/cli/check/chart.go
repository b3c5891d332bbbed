package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// Chart is a Helm chart to render.
type Chart struct {
	// Path is the chart's folder.
	Path string
	// Values are files that override the chart's values, and each the ones before it.
	Values []string
}

// chartFile is the file that makes a folder a chart.
const chartFile = "Chart.yaml"

// isChart reports whether the path is the folder of a chart.
func isChart(path string) bool {
	_, err := os.Stat(filepath.Join(path, chartFile))
	return err == nil
}

// SplitCharts tells the folders that hold a chart, to be rendered with these values files,
// from other paths.
func SplitCharts(paths, values []string) (others []string, charts []Chart) {
	for _, path := range paths {
		if isChart(path) {
			charts = append(charts, Chart{path, values})
		} else {
			others = append(others, path)
		}
	}
	return others, charts
}

// chart renders a chart, without a cluster, and returns what comes out: each file is
// called by the template that it is made of. The names of the API versions are those
// that the definitions of routes serve, and Kubernetes' own.
func (c *checker) chart(ctx context.Context, chart *Chart) ([]*file, error) {
	r, err := c.newRendering(ctx, chart)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	rendered, missing, err := c.options.builder.Render(ctx, r.chart)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	for _, name := range missing {
		c.skipped = append(c.skipped, report.Skipped{
			Path: filepath.ToSlash(chart.Path), Reason: "dependency " + name + " is not in its directory charts; run helm dependency build",
		})
	}
	var files []*file
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		// Helm applies all that is not a partial or its notes, whatever its ending.
		if base := path.Base(name); strings.TrimSpace(rendered[name]) == "" || base[0] == '_' || base == "NOTES.txt" {
			continue
		}
		f, err := c.input.parseBuilt(filepath.Join(chart.Path, filepath.FromSlash(name)), []byte(rendered[name]))
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
		}
		f.sets = func(object *manifest.Object, field string, value any) (report.Place, bool) {
			return r.sets(name, object, field, value)
		}
		for i := range f.documents {
			f.documents[i].written = nil // no line of the template is known
		}
		for _, err := range f.broken {
			if at, ok := errors.AsType[*manifest.Error](err); ok { // all are
				at.Line = 1
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// brokenChart reports whether the chart cannot be rendered whatever the values.
func brokenChart(err error) bool {
	failed := (*build.Error)(nil)
	return errors.Is(err, errNotLoaded) || errors.As(err, &failed) && (failed.NotLoaded || failed.NotParsed || failed.Exhausted)
}

var errNotLoaded = errors.New("it cannot be loaded")

// rendering is a chart with all that bears on what it renders to.
type rendering struct {
	folder string
	chart  *build.Chart
	// again renders the chart with other content in one of its files, or of those with values.
	again func(values bool, index int, content []byte) (map[string]string, error)
	// given are the values in these files, and trials counts what was rendered to find
	// where values come from.
	given  []*given
	trials int
}

func (c *checker) newRendering(ctx context.Context, chart *Chart) (*rendering, error) {
	r := &rendering{folder: chart.Path, chart: &build.Chart{Namespace: c.input.namespace, APIVersions: c.apiVersions()}}
	r.again = func(values bool, index int, content []byte) (map[string]string, error) {
		return c.options.builder.Again(ctx, r.chart, values, index, content)
	}
	var err error
	if r.chart.Files, err = chartFiles(c.options, chart.Path); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	for _, name := range chart.Values {
		data, err := c.input.take(name)
		if err == nil {
			err = yaml.Check(data)
		}
		if err != nil {
			return nil, err
		}
		r.chart.Values = append(r.chart.Values, build.File{Name: name, Data: data})
	}
	return r, nil
}

// apiVersions returns what a template may ask for (.Capabilities.APIVersions.Has) of the
// Gateway API: the versions, and the kinds in each.
func (c *checker) apiVersions() []string {
	var versions []string
	for _, kind := range mesh.RouteKinds() {
		served, _ := c.definitions.Served(schema.GroupKind{Group: mesh.GatewayGroup, Kind: string(kind)}) // none that can be read
		for _, version := range served {
			name := mesh.GatewayGroup + "/" + version
			if !slices.Contains(versions, name) {
				versions = append(versions, name)
			}
			versions = append(versions, name+"/"+string(kind))
		}
	}
	return versions
}
