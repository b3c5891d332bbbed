package check

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
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
func (c *checker) chart(chart *Chart) ([]*file, error) {
	r, err := c.newRendering(chart)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	rendered, err := r.render(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	var files []*file
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.TrimSpace(rendered[name]) == "" || !slices.Contains(manifestEndings, filepath.Ext(name)) {
			continue
		}
		f := c.input.parse(filepath.Join(chart.Path, filepath.FromSlash(name)), []byte(rendered[name]))
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
	return errors.Is(err, errNotLoaded) || strings.Contains(err.Error(), "parse error at ")
}

var errNotLoaded = errors.New("it cannot be loaded")

// rendering is a chart with all that bears on what it renders to.
type rendering struct {
	folder string
	// chart are the files of the chart, by their names in it, and values those that
	// override its values, by their paths.
	chart, values []*archive.BufferedFile
	namespace     string
	capabilities  *common.Capabilities
	// given are the values in these files, and trials counts what was rendered to find
	// where values come from.
	given  []*given
	trials int
}

func (c *checker) newRendering(chart *Chart) (*rendering, error) {
	loaded, err := loader.LoadDir(chart.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	for _, dependency := range loaded.Metadata.Dependencies {
		if !slices.ContainsFunc(loaded.Dependencies(), func(of *chartv2.Chart) bool { return of.Name() == dependency.Name }) {
			c.skipped = append(c.skipped, report.Skipped{
				Path: filepath.ToSlash(chart.Path), Reason: "dependency " + dependency.Name + " is not in its directory charts; run helm dependency build",
			})
		}
	}
	r := &rendering{folder: chart.Path, namespace: c.input.namespace, capabilities: common.DefaultCapabilities.Copy()}
	r.capabilities.APIVersions = append(slices.Clone(r.capabilities.APIVersions), c.apiVersions()...)
	for _, f := range loaded.Raw {
		data, err := c.input.readFile(filepath.Join(chart.Path, filepath.FromSlash(f.Name)))
		if err != nil {
			data = f.Data // it has gone since
		}
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // as the loader does
		r.chart = append(r.chart, &archive.BufferedFile{Name: f.Name, Data: data})
	}
	for _, name := range chart.Values {
		data, err := c.input.readFile(name)
		if err != nil {
			return nil, err
		}
		r.values = append(r.values, &archive.BufferedFile{Name: name, Data: data})
	}
	return r, nil
}

// render returns the texts that the chart's templates make, by the names of these in the
// chart's folder, and its CustomResourceDefinitions; with other content in one of the
// files, if it is not nil.
func (r *rendering) render(replaced *archive.BufferedFile, content []byte) (map[string]string, error) {
	with := func(files []*archive.BufferedFile) []*archive.BufferedFile {
		files = slices.Clone(files)
		if i := slices.Index(files, replaced); i >= 0 {
			files[i] = &archive.BufferedFile{Name: replaced.Name, Data: content}
		}
		return files
	}
	chart, err := loader.LoadFiles(with(r.chart))
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, file := range with(r.values) {
		more, err := common.ReadValues(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		values = loader.MergeMaps(values, more)
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: chart.Name(), Namespace: r.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, r.capabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	for _, crd := range chart.CRDObjects() {
		texts[crd.Filename] = string(crd.File.Data)
	}
	rendered := map[string]string{}
	for name, text := range texts {
		_, name, _ = strings.Cut(name, "/") // after the chart's name
		rendered[name] = text
	}
	return rendered, nil
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
