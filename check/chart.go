package check

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// isChart reports whether the path is the folder of a chart.
func isChart(path string) bool {
	_, err := os.Stat(filepath.Join(path, "Chart.yaml"))
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
	loaded, err := loader.LoadDir(chart.Path)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	rendered, err := c.render(loaded, chart.Values)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", chart.Path, err)
	}
	for _, crd := range loaded.CRDObjects() {
		rendered[crd.Filename] = string(crd.File.Data)
	}
	var files []*file
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.TrimSpace(rendered[name]) == "" || !slices.Contains(manifestEndings, filepath.Ext(name)) {
			continue
		}
		_, template, _ := strings.Cut(name, "/") // after the chart's name
		f := c.input.parse(filepath.Join(chart.Path, filepath.FromSlash(template)), []byte(rendered[name]))
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

// render returns the texts that the chart's templates make, by name.
func (c *checker) render(chart *chartv2.Chart, files []string) (map[string]string, error) {
	values := map[string]any{}
	for _, file := range files {
		more, err := common.ReadValuesFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values = loader.MergeMaps(values, more)
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), c.apiVersions()...)
	release := common.ReleaseOptions{Name: chart.Name(), Namespace: c.input.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
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
