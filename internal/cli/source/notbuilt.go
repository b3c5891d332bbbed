package source

import (
	"cmp"
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
	// Lacks: it is a chart that lacks a dependency, which may be why.
	Lacks bool
	// At is the place that is the cause, in a template or in a kustomization; zero if it is not known.
	At report.Place
}

// Lacking is why a chart is not rendered without the dependencies, which it lacks.
func Lacking(dependencies []string) *NotBuilt {
	why := fmt.Sprintf("dependency %s is not in its directory charts; run helm dependency build", strings.Join(dependencies, ", "))
	return &NotBuilt{error: errors.New(why), Why: why, Lacks: true}
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
	} else if malformed := cmp.Or(in.malformed(folder, not.Why), in.doubledKey(folder, not.Why)); malformed != nil {
		not.At, not.Why = report.Place{File: malformed.File, Line: malformed.Line}, malformed.Err.Error()
	} else if !in.locateBelow(not, folder) {
		return
	}
	not.error = fmt.Errorf("kustomization %s: %s:%d: %s", folder, not.At.File, not.At.Line, not.Why)
}

// cause returns the folder of the kustomization that is the cause, the one in the folder or one below it, and what kustomize says of it.
func cause(folder, why string) (at, said string) {
	found := below.FindStringSubmatch(why)
	if found == nil {
		return folder, why
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return folder, why
	}
	within, err := filepath.Rel(absolute, found[1])
	if err != nil {
		return folder, why
	}
	return filepath.Join(folder, within), why[len(found[0]):]
}

// locateBelow finds the kustomization that is the cause, below the one in the folder, or the patch, or the field that kustomize does not know. It
// reports whether it did.
func (in *Input) locateBelow(not *NotBuilt, folder string) bool {
	at, why := cause(folder, not.Why)
	file := build.KustomizationFile(at)
	if file == at || !in.Files.Inside(file) {
		return false
	}
	place, found := in.failingPatch(file, why)
	if field := unknown.FindStringSubmatch(why); !found && (at != folder || field != nil) {
		place, found = report.Place{File: file, Line: 1}, true
		if field != nil {
			place.Line = in.line(file, field[1])
		}
	}
	if found {
		why, _, _ = strings.Cut(why, ": no matches for Id ") // which repeats what is said before
		not.At, not.Why = place, why
	}
	return found
}

// plugin is how kustomize says that it does not run one, and inflates that it does not inflate a chart.
var plugin = regexp.MustCompile(`external plugins disabled; unable to load external plugin '(.*)'$`)

const inflates = ": must specify --enable-helm"

// notRun says what the kustomization in the folder needs that gammaguard never runs, a plugin or Helm, and where it does. It
// reports whether that is why it is not built.
func (in *Input) notRun(not *NotBuilt, folder string) bool {
	at, why := cause(folder, not.Why)
	file := build.KustomizationFile(at)
	inside := file != at && in.Files.Inside(file)
	found := plugin.FindStringSubmatch(why)
	switch {
	case found != nil:
		as := "plugin"
		if inside {
			not.At = report.Place{File: file, Line: 1}
			if named := build.FindPlugin(in.Disk.Read, file, found[1]); named != nil {
				not.At.Line, as = named.Line, strings.TrimSuffix(named.Field, "s")
			}
		}
		not.Why = fmt.Sprintf("%s %s is a plugin, which gammaguard does not run; check what kustomize builds with -f -", as, found[1])
	case strings.HasSuffix(why, inflates):
		if inside {
			not.At = report.Place{File: file, Line: max(in.line(file, "helmCharts"), in.line(file, "helmChartInflationGenerator"))}
		}
		not.Why = build.NotInflated
	default:
		return false
	}
	not.error = fmt.Errorf("kustomization %s: %s", folder, not.Why)
	if not.At != (report.Place{}) {
		not.error = fmt.Errorf("kustomization %s: %s:%d: %s", folder, not.At.File, not.At.Line, not.Why)
	}
	return true
}

// line returns the line of the only field of that name in the file, and 1 otherwise: of several, it may be any.
func (in *Input) line(file, field string) int {
	if data, err := in.take(file); err == nil {
		if documents, err := yaml.Documents(data); err == nil {
			if lines := keys(documents, field); len(lines) == 1 {
				return lines[0]
			}
		}
	}
	return 1
}

// unmatched is how kustomize names a strategic merge patch that no object matches: its kind, its name, and its namespace.
var unmatched = regexp.MustCompile(`no resource matches strategic merge patch "([^."]+)\.[^/"]*/([^"]+)\.([^."]+)"`)

// failingPatch returns the place of the only patch, or operation, of the kustomization in the file that kustomize may speak of.
func (in *Input) failingPatch(file, why string) (place report.Place, found bool) {
	object := unmatched.FindStringSubmatch(why)
	words := strings.FieldsFunc(why, func(r rune) bool { return strings.ContainsRune(" :'\"", r) })
	_, kind, unexpected := strings.Cut(why, "Unexpected kind: ")
	add := func(at report.Place) bool {
		again := found
		place, found = at, true
		return !again
	}
	for _, p := range in.ownPatches(file, in.patching(file)) {
		switch {
		case p.merge != nil && object != nil:
			key := &p.merge.Key
			if key.Kind == object[1] && key.Name == object[2] && cmp.Or(key.Namespace, "[noNs]") == object[3] &&
				!add(report.Place{File: p.file, Line: p.line - 1 + p.merge.Line("")}) {
				return report.Place{}, false
			}
		case p.merge == nil && object == nil:
			for _, operation := range p.operations.Content[0].Content {
				var fields struct{ Op, Path, From string }
				if operation.Decode(&fields) != nil {
					continue
				}
				fails := slices.Contains(words, fields.Op) || fields.Op == "test" && slices.Contains(words, "testing")
				fails = fails && (slices.Contains(words, fields.Path) || fields.From != "" && slices.Contains(words, fields.From))
				if (fails || unexpected && kind == fields.Op) && !add(report.Place{File: p.file, Line: p.line - 1 + operation.Line}) {
					return report.Place{}, false
				}
			}
		}
	}
	return place, found
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

// doubledKey returns the first duplicate key in the files of objects, or else in the patches, of the kustomization in the folder and those that it uses, of
// which the builder speaks: it names the key, and the lines of what it has made. It is nil if there is none.
func (in *Input) doubledKey(folder, failed string) *manifest.Error {
	var keys []*manifest.Error
	if !strings.Contains(failed, "mapping key ") {
		return nil
	}
	used := Uses(in.Disk.Read, folder)
	for _, path := range slices.Sorted(maps.Keys(used)) {
		if data, err := in.take(path); err == nil && used[path] == ObjectOf {
			_, errs := manifest.ReadUndecoded(path, data, in.namespace())
			keys = append(keys, doubled(errs)...)
		}
	}
	for _, p := range in.patchesOf(folder, map[string]bool{}, affix{}) {
		keys = append(keys, doubled(p.doubled)...)
	}
	for _, key := range keys {
		if strings.Contains(failed, "mapping key "+strings.TrimPrefix(key.Err.Error(), manifest.DuplicateKey)+" already defined") {
			return key
		}
	}
	return nil
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
