package build

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

var errNotLoaded = errors.New("it cannot be loaded")

// missing returns the dependencies that the chart names and does not hold.
func (r *Chart) missing() (names []string, _ error) {
	loaded, err := loader.LoadFiles(buffered(r.Files))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	for _, dependency := range loaded.Metadata.Dependencies {
		if !slices.ContainsFunc(loaded.Dependencies(), func(of *chartv2.Chart) bool { return of.Name() == dependency.Name }) {
			names = append(names, dependency.Name)
		}
	}
	return names, nil
}

func buffered(files []File) (all []*archive.BufferedFile) {
	for _, f := range files {
		all = append(all, &archive.BufferedFile{Name: f.Name, Data: f.Data})
	}
	return all
}

// render returns the texts that the chart's templates make, by Helm's names of these without the chart's, and its
// CustomResourceDefinitions.
func (r *Chart) render() (map[string]Rendered, error) {
	chart, err := loader.LoadFiles(buffered(r.Files))
	if err != nil {
		return nil, err
	}
	chart.SetDependencies(slices.DeleteFunc(chart.Dependencies(), func(of *chartv2.Chart) bool { return slices.Contains(r.Without, of.Name()) })...)
	all := map[string]any{}
	for _, file := range r.Values {
		more, err := common.ReadValues(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		all = loader.MergeMaps(all, more)
	}
	if err := chartutil.ProcessDependencies(chart, all); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(slices.Clone(capabilities.APIVersions), r.APIVersions...)
	release := common.ReleaseOptions{Name: chart.Name(), Namespace: r.Namespace, Revision: 1, IsInstall: true}
	input, err := util.ToRenderValues(chart, all, release, capabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(chart, input)
	if err != nil {
		return nil, err
	}
	loaded := loadedFiles(chart, r.Files)
	rendered := map[string]Rendered{}
	add := func(name string, made Rendered) {
		made.File = loaded[name]
		_, name, _ = strings.Cut(name, "/") // after the chart's name
		if before, is := rendered[name]; is {
			made.Text = before.Text + "\n---\n" + made.Text
		}
		rendered[name] = made
	}
	for name, text := range texts {
		add(name, Rendered{Text: split(text)})
	}
	for _, crd := range chart.CRDObjects() { // all are applied, also those of one name
		add(crd.Filename, Rendered{Text: string(crd.File.Data), Definition: true})
	}
	return rendered, nil
}

// loadedFiles returns which of the files the templates and CustomResourceDefinitions of the chart and of those in it
// were loaded from, by Helm's names of these. A name has the chart's name where the file has its folder's. What was
// loaded from an archive is left out, and so is a name that two files have.
func loadedFiles(chart *chartv2.Chart, files []File) map[string]string {
	names := map[*byte]string{}
	for _, f := range files {
		if len(f.Data) > 0 {
			names[&f.Data[0]] = f.Name // the loader keeps the bytes of a file that is in no archive
		}
	}
	loaded, seen := map[string]string{}, map[string]bool{}
	add := func(chart *chartv2.Chart, f *common.File) {
		name := path.Join(chart.ChartFullPath(), f.Name)
		if delete(loaded, name); !seen[name] && len(f.Data) > 0 && names[&f.Data[0]] != "" {
			loaded[name] = names[&f.Data[0]]
		}
		seen[name] = true
	}
	var walk func(*chartv2.Chart)
	walk = func(chart *chartv2.Chart) {
		for _, f := range chart.Templates {
			add(chart, f)
		}
		for _, f := range chart.Files {
			add(chart, f)
		}
		for _, child := range chart.Dependencies() {
			walk(child)
		}
	}
	walk(chart)
	return loaded
}

// split returns the text with each document as Helm applies it: to Helm, "---" at the beginning of any line ends one,
// also where the rest of the line is not empty.
func split(text string) string {
	manifests := releaseutil.SplitManifests(text)
	names := slices.Collect(maps.Keys(manifests))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	var documents []string
	for _, name := range names {
		documents = append(documents, manifests[name])
	}
	return strings.Join(documents, "\n---\n")
}
