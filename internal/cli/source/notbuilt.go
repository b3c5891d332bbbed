package source

import (
	"errors"
	"fmt"
	"maps"
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

// NotBuilt is why a kustomization or a chart has no manifests.
type NotBuilt struct {
	error
	// Why says why, without the kustomization or the chart, and without At.
	Why string
	// Broken: no more input, such as what is not on this disk, or values, would help. Remote:
	// it needs what is not in the repository.
	Broken, Remote bool
	// Values: a template fails, or the values do not match the chart's schema, so that other values may help.
	Values bool
	// At is the place that is the cause, in a template or in a kustomization; zero if it is not known.
	At report.Place
}

// Error says why on one line: the errors of Helm and kustomize have many.
func (n *NotBuilt) Error() string { return strings.Join(strings.Fields(n.error.Error()), " ") }

// Unwrap returns why.
func (n *NotBuilt) Unwrap() error { return n.error }

// quoted is why a component cannot be built, as kustomize quotes it.
var quoted = regexp.MustCompile(`(?:accumulateDirectory:|loader\.New) (".*")$`)

// unquoted returns what kustomize says, as it is said of the component that is the cause: of components in components, each quotes the next.
func unquoted(why string) string {
	for {
		found := quoted.FindStringSubmatchIndex(why)
		if found == nil {
			return why
		}
		text, err := strconv.Unquote(why[found[2]:])
		if err != nil {
			return why
		}
		why = why[:found[2]] + text
	}
}

// below are the words by which kustomize says that a kustomization below another one cannot be built, of which the last is the
// cause.
var below = regexp.MustCompile(`(?s)^.*(?:recursed accumulation of path|couldn't make target for path) '([^']+)': `)

// locate finds the place that is the cause why kustomize did not build the folder, and says why in words that do not repeat
// the way to it.
func (in *Input) locate(not *NotBuilt, folder string) {
	if missing, why := build.FindMissing(in.Disk.Read, folder, not.Why); missing != nil {
		not.At = report.Place{File: missing.File, Line: missing.Line}
		not.Why = fmt.Sprintf("%s: %s %s", missing.Field, missing.Name, why)
	} else if malformed := in.malformed(folder, not.Why); malformed != nil {
		not.At, not.Why = report.Place{File: malformed.File, Line: malformed.Line}, malformed.Err.Error()
	} else if !in.locateBelow(not, folder) {
		return
	}
	not.error = fmt.Errorf("kustomization %s: %s:%d: %s", folder, not.At.File, not.At.Line, not.Why)
}

// locateBelow finds the kustomization that is the cause, below the one in the folder, or that one if kustomize does not know a field of it. It
// reports whether it did.
func (in *Input) locateBelow(not *NotBuilt, folder string) bool {
	at, why := folder, not.Why
	if found := below.FindStringSubmatch(why); found != nil {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return false
		}
		within, err := filepath.Rel(absolute, found[1])
		if err != nil {
			return false
		}
		at, why = filepath.Join(folder, within), why[len(found[0]):]
	}
	file := build.KustomizationFile(at)
	field := unknown.FindStringSubmatch(why)
	if file == at || !in.Files.Inside(file) || at == folder && field == nil {
		return false
	}
	not.At, not.Why = report.Place{File: file, Line: 1}, why
	if data, err := in.take(file); err == nil && field != nil {
		if documents, err := yaml.Documents(data); err == nil {
			if lines := keys(documents, field[1]); len(lines) == 1 { // of several, it may be any
				not.At.Line = lines[0]
			}
		}
	}
	return true
}

// unknown is how kustomize names a field that it does not know.
var unknown = regexp.MustCompile(`unknown field "([^"]+)"`)

// keys returns the lines of the fields of this name in the nodes.
func keys(nodes []*yaml.Node, name string) (lines []int) {
	for _, node := range nodes {
		if node.Kind == yaml.MappingNode {
			for i := 0; i < len(node.Content); i += 2 {
				if key := node.Content[i]; key.Value == name {
					lines = append(lines, key.Line)
				}
			}
		}
		lines = append(lines, keys(node.Content, name)...)
	}
	return lines
}

// malformed returns the first error of YAML in the kustomization in the folder, those that it uses, and the files that these name, if
// the builder failed because of one; nil if it is not found. It names files, but no kustomizations, and none of configurations.
func (in *Input) malformed(folder, failed string) *manifest.Error {
	object, other := strings.Contains(failed, "MalformedYAMLError"), strings.Contains(failed, "error converting YAML to JSON: ")
	may := map[Use]bool{
		kustomizationOf: strings.Contains(failed, "invalid Kustomization: yaml: "), ObjectOf: object, configurationOf: other,
		namedBy: object || other || strings.Contains(failed, "unable to parse SM or JSON patch"),
	}
	used := Uses(in.Disk.Read, folder)
	for _, path := range slices.Sorted(maps.Keys(used)) {
		as := used[path]
		if !may[as] || (as == namedBy || as == ObjectOf) && !strings.Contains(failed, filepath.Base(path)) {
			continue
		}
		if data, err := in.take(path); err == nil {
			_, errs := manifest.ReadUndecoded(path, data, in.namespace())
			if at, ok := errors.AsType[*manifest.Error](errors.Join(errs...)); ok && strings.HasPrefix(at.Err.Error(), manifest.Broken) {
				return at
			}
		}
	}
	return nil
}
