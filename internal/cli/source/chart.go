package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Chart is a Helm chart to render.
type Chart struct {
	// Path is the chart's folder.
	Path string
	// Values are files that override the chart's values, and each the ones before it.
	Values []string
	// Without are the dependencies that are left out.
	Without []string
}

// ChartFile is the file that makes a folder a chart.
const ChartFile = "Chart.yaml"

// IsChart reports whether the path is the folder of a chart.
func IsChart(path string) bool {
	_, err := os.Stat(filepath.Join(path, ChartFile))
	return err == nil
}

// SplitCharts tells the folders that hold a chart from other paths.
func SplitCharts(paths []string) (others []string, charts []Chart) {
	for _, path := range paths {
		if IsChart(path) {
			charts = append(charts, Chart{Path: path})
		} else {
			others = append(others, path)
		}
	}
	return others, charts
}

// Render renders a chart, without a cluster, and returns what comes out: each file is
// called by the file of the template that it is made of or, if that is in an archive, by Helm's name of it. The API versions are what a template may ask for
// (.Capabilities.APIVersions.Has) besides Kubernetes' own. It also returns what was left aside.
// The error may be a *NotBuilt.
func (in *Input) Render(ctx context.Context, chart *Chart, apiVersions []string) (files []*File, skipped []report.Skipped, err error) {
	if files, skipped, err = in.render(ctx, chart, apiVersions); err != nil {
		failed := (*build.Error)(nil)
		broken := errors.Is(err, errNotLoaded) || errors.As(err, &failed) && (failed.NotLoaded || failed.NotParsed || failed.Exhausted)
		values := failed != nil && !broken && len(failed.Missing) == 0
		var at report.Place
		if failed != nil {
			place, misfit := in.misfit(chart, failed.Error())
			if at = place; !misfit {
				at = in.cause(chart, failed.Error())
			}
			broken = broken || values && (misfit || !demands.MatchString(failed.Error()))
		}
		why := err.Error()
		if file, ok := errors.AsType[*manifest.Error](err); ok {
			broken, at, why = true, report.Place{File: file.File, Line: file.Line}, file.Err.Error()
		}
		lacks := failed != nil && len(failed.Missing) > 0
		if lacks {
			err = fmt.Errorf("%w: %w", Lacking(failed.Missing), err)
			why = err.Error()
		}
		return nil, nil, &NotBuilt{error: fmt.Errorf("chart %s: %w", chart.Path, err), Why: why, Broken: broken, Values: values, Lacks: lacks, At: at}
	}
	return files, skipped, nil
}

// demands is how Helm begins an error of a chart that demands values: by the functions required and fail, or by its schema.
var demands = regexp.MustCompile(`^(?:execution error at \(|values don't meet the specifications of the schema)`)

// misfits is how Helm says of a chart that its schema does not take a value that a file has, for its name or its type. Any other value may be
// one that stands for none.
var misfits = regexp.MustCompile(`(?m)^(\S+):\n(?:[- ].*\n)*?- at '(.*?)': (?:additional properties '(.*?)'.* not allowed|got (?:array|boolean|integer|number|object|string), want .*)$`)

// refusals is how Helm says so of any value that is there. In a file that is chosen for an environment, it stands for itself.
var refusals = regexp.MustCompile(`(?m)^(\S+):\n(?:[- ].*\n)*?- at '(.+?)': (.*)$`)

// misfit reports whether Helm's error is about such a value, and where that stands in the last of the files that have it, if one is found.
func (in *Input) misfit(chart *Chart, text string) (at report.Place, is bool) {
	found := misfits.FindStringSubmatch(text)
	if !strings.HasPrefix(text, "values don't meet ") {
		return at, false
	}
	chosen := false
	if found == nil {
		if found, chosen = refusals.FindStringSubmatch(text), true; len(found) < 4 || strings.HasPrefix(found[3], "missing propert") {
			return at, false
		}
		found[3] = ""
	}
	path := strings.ReplaceAll(found[2], "/", ".")
	if found[3] != "" {
		path += "[" + found[3] + "]"
	}
	for _, path := range []string{"[" + found[1] + "]" + path, path} { // of a chart in it, or its own
		files := chart.Values
		if !chosen {
			files = slices.Concat([]string{filepath.Join(chart.Path, "values.yaml")}, files)
		}
		for _, name := range slices.Backward(files) {
			data, err := in.Disk.Read(name)
			if err != nil {
				continue
			}
			objects, _ := manifest.ReadUndecoded(name, data, "")
			for _, values := range objects {
				if _, line, has := values.Field(path); has {
					return report.Place{File: name, Line: line}, true
				}
			}
		}
	}
	return at, !chosen
}

// causes are the ways in which Helm begins an error with the place in a template: of one that cannot be parsed, of one that
// fails on purpose, and of one that fails otherwise.
var causes = regexp.MustCompile(`^(?:(?:parse|execution) error at \((.+?):(\d+)(?::\d+)?\): |(.+?):(\d+):\d+\n)`)

// cause returns the place in a file of the chart that an error of Helm names, or none. Helm's name of a template begins with
// the name of the chart.
func (in *Input) cause(chart *Chart, text string) (at report.Place) {
	found := causes.FindStringSubmatch(text)
	if found == nil {
		return at
	}
	_, name, _ := strings.Cut(found[1]+found[3], "/")
	line, err := strconv.Atoi(found[2] + found[4])
	if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) {
		return at
	}
	path := filepath.Join(chart.Path, filepath.FromSlash(name))
	data, err := in.Disk.Read(path)
	if err != nil { // a chart in it has another name than its folder, or is an archive
		return at
	}
	lines := bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1
	return report.Place{File: path, Line: max(1, min(line, lines))} // what is not closed ends after the last line
}

func (in *Input) render(ctx context.Context, chart *Chart, apiVersions []string) (files []*File, skipped []report.Skipped, _ error) {
	r := &build.Chart{Namespace: in.namespace(), APIVersions: apiVersions, Without: chart.Without}
	var err error
	if r.Files, err = in.chartFiles(chart.Path); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotLoaded, err)
	}
	for i := range r.Files {
		if file := &r.Files[i]; path.Base(file.Name) == "values.schema.json" {
			invalid := (*json.SyntaxError)(nil)
			if err := json.Unmarshal(file.Data, new(any)); errors.As(err, &invalid) {
				line := 1 + bytes.Count(file.Data[:invalid.Offset], []byte("\n"))
				return nil, nil, &manifest.Error{Origin: manifest.Origin{File: filepath.Join(chart.Path, filepath.FromSlash(file.Name)), Line: line}, Err: fmt.Errorf("broken JSON: %w", err)}
			}
		} else if loaded(file.Name) {
			if err := manifest.CheckYAML(filepath.Join(chart.Path, filepath.FromSlash(file.Name)), file.Data); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, name := range chart.Values {
		data, err := in.take(name)
		if err == nil {
			err = yaml.Check(data)
		}
		if err != nil {
			return nil, nil, err
		}
		if err := manifest.CheckYAML(name, data); err != nil {
			return nil, nil, err
		}
		r.Values = append(r.Values, build.File{Name: name, Data: data})
	}
	rendered, missing, err := in.builder.Render(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	templates := map[string][]byte{}
	for _, file := range r.Files {
		templates[file.Name] = file.Data
	}
	for _, name := range missing {
		skipped = append(skipped, report.Skipped{
			Path: filepath.ToSlash(chart.Path), Reason: "dependency " + name + " is not in its directory charts, so the input lacks its objects; run helm dependency build",
			At: report.Place{File: filepath.Join(chart.Path, ChartFile), Line: 1}, Lacks: name,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		// Helm applies all that is not a partial or its notes, whatever its ending, and each definition.
		made := rendered[name]
		if base := path.Base(name); strings.TrimSpace(made.Text) == "" || !made.Definition && (base[0] == '_' || base == "NOTES.txt") {
			continue
		}
		f, err := in.parseBuilt(filepath.Join(chart.Path, filepath.FromSlash(cmp.Or(made.File, name))), []byte(made.Text))
		if err != nil {
			return nil, nil, err
		}
		f.archived = made.File == ""
		f.template = &template{text: string(templates[made.File]), made: made.Text, compared: &in.compared}
		for i := range f.Documents {
			f.Documents[i].Written, f.Documents[i].template = nil, f.template
		}
		for _, err := range f.Broken {
			if at, ok := errors.AsType[*manifest.Error](err); ok { // all are
				at.Line = f.template.line(at.Line)
			}
		}
		files = append(files, f)
	}
	return files, skipped, nil
}

// loaded reports whether a file of a chart says what the chart is, or has values, of it or of a chart in it.
func loaded(name string) bool {
	folder, base := path.Split(name)
	return (base == ChartFile || base == "values.yaml") && (folder == "" || path.Base(path.Dir(path.Clean(folder))) == "charts")
}

var errNotLoaded = errors.New("it cannot be loaded")
