package source

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// patch is a patch of a kustomization: what to merge, or operations.
type patch struct {
	// file is where it stands, from this line on; inline is set where that is in the kustomization.
	file   string
	line   int
	inline bool
	// target is what it is for, and later what is put around the names of that once it is applied.
	target     *target
	later      affix
	merge      *manifest.Object
	operations yaml.Node
	// doubled are the duplicate keys of its text, each a *manifest.Error; kustomize takes one of two, and says nothing. Of several objects in one text, the
	// first has them.
	doubled []error
}

// patching is what of a kustomization says which patches there are.
type patching struct {
	Resources, Bases, Components []string
	NamePrefix                   string `yaml:"namePrefix"`
	NameSuffix                   string `yaml:"nameSuffix"`
	Patches                      []targeted
	PatchesJSON6902              []targeted  `yaml:"patchesJson6902"`
	PatchesStrategicMerge        []yaml.Node `yaml:"patchesStrategicMerge"`
}

type targeted struct {
	Path   string
	Patch  yaml.Node
	Target *types.Selector
}

// patchesOf returns the patches that the kustomization in the folder names, and those that
// the kustomizations below do, in the order in which they are applied. It looks at none of
// those that were seen before: with links in the paths, they may lead back to each other. What
// is read counts, as often as it is named. Around its names, kustomizations above put the affix.
func (in *Input) patchesOf(folder string, seen map[string]bool, above affix) []patch {
	file := build.KustomizationFile(folder)
	if seen[file] {
		return nil
	}
	seen[file] = true
	folder = build.Real(folder) // as kustomize does, before paths in it are followed
	k := in.patching(file)
	later := affix{above.prefix + k.NamePrefix, k.NameSuffix + above.suffix}
	var all []patch
	for _, below := range slices.Concat(k.Resources, k.Bases, k.Components) {
		if path := filepath.Join(folder, filepath.FromSlash(below)); build.KustomizationFile(path) != path {
			all = append(all, in.patchesOf(path, seen, later)...)
		}
	}
	own := in.ownPatches(file, k)
	for i := range own {
		own[i].later = later
	}
	return append(all, own...)
}

// patching reads it from the file; nothing if that cannot be read.
func (in *Input) patching(file string) (k patching) {
	data, err := in.take(file)
	if err != nil || yaml.Unmarshal(data, &k) != nil {
		return patching{} // kustomize says what is wrong
	}
	return k
}

// ownPatches returns the patches that the kustomization in the file names.
func (in *Input) ownPatches(file string, k patching) (all []patch) {
	folder := build.Real(filepath.Dir(file))
	for _, p := range slices.Concat(k.Patches, k.PatchesJSON6902) {
		if p.Path != "" {
			all = append(all, in.patchesIn(filepath.Join(folder, filepath.FromSlash(p.Path)), p.Target)...)
		} else {
			all = append(all, inlinePatches(file, &p.Patch, p.Target)...)
		}
	}
	for i := range k.PatchesStrategicMerge {
		node := &k.PatchesStrategicMerge[i]
		if strings.Contains(node.Value, "\n") {
			all = append(all, inlinePatches(file, node, nil)...)
		} else {
			all = append(all, in.patchesIn(filepath.Join(folder, filepath.FromSlash(node.Value)), nil)...)
		}
	}
	return all
}

// patchesIn returns the patches in a file; none if it cannot be read.
func (in *Input) patchesIn(file string, of *types.Selector) []patch {
	data, err := in.take(file)
	if err != nil {
		return nil
	}
	return readPatches(file, data, 1, of)
}

// inlinePatches returns the patches in a text of the kustomization.
func inlinePatches(file string, node *yaml.Node, of *types.Selector) []patch {
	line := node.Line
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line++
	}
	all := readPatches(file, []byte(node.Value), line, of)
	for i := range all {
		all[i].inline = true
	}
	return all
}

// readPatches reads the patches for the objects that the kustomization selects; nil stands for those that the patches name.
func readPatches(file string, data []byte, line int, of *types.Selector) []patch {
	p := patch{file: shown(file), line: line}
	if of != nil {
		p.target = newTarget(*of)
	}
	objects, errs := manifest.ReadUndecoded(p.file, data, "")
	for _, key := range doubled(errs) {
		key.Line += line - 1
		p.doubled = append(p.doubled, key)
	}
	if yaml.Unmarshal(data, &p.operations) == nil && len(p.operations.Content) == 1 && p.operations.Content[0].Kind == yaml.SequenceNode {
		return []patch{p}
	}
	var all []patch
	for _, object := range objects {
		p.merge = object
		if of == nil {
			p.target = named(object)
		}
		all = append(all, p)
		p.doubled = nil
	}
	return all
}

// doubled returns those of the errors that are about duplicate keys.
func doubled(errs []error) (keys []*manifest.Error) {
	for _, err := range errs {
		if at, ok := errors.AsType[*manifest.Error](err); ok && strings.HasPrefix(at.Err.Error(), manifest.DuplicateKey) {
			keys = append(keys, at)
		}
	}
	return keys
}

// setting are the operations that give a field a value.
var setting = []string{"add", "replace", "move", "copy"}

// patches are those of a kustomization, in the order in which they are applied.
type patches []patch

// state is what is known of a field that a patch may set. Unchanged: the source has that value there, so that no element that was appended is meant, and
// no field below it. Lacked: it is what is around a field that is not there, which no other field below it bears on.
type state struct{ unchanged, lacked bool }

// sets returns where the last patch that sets the field of the object, or a part of it, does.
func (ps patches) sets(d *Document, path string, value any, is state) (place report.Place, found bool) {
	for _, p := range slices.Backward(ps) {
		if place, found = p.sets(d, path, value, is); found {
			return place, true
		}
	}
	return place, false
}

// sets returns where the patch gives the field of the object its value, or a part of it.
func (p *patch) sets(d *Document, path string, value any, is state) (place report.Place, found bool) {
	if !p.target.selects(d, p.later) {
		return place, false
	}
	if p.merge != nil {
		given, line, found := p.merge.Field(path)
		return report.Place{File: p.file, Line: p.line - 1 + line}, found && p.later.same(given, value, fieldOf(path))
	}
	parts := !is.lacked && strings.Count(path, ".") > 1 // a rule as a whole, and all of them, have parts that do not bear on each other
	pointer := "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(path)
	for _, operation := range p.operations.Content[0].Content {
		var fields struct {
			Op, Path string
			Value    any
		}
		if operation.Decode(&fields) != nil || !slices.Contains(setting, fields.Op) {
			continue
		}
		below := parts && strings.HasPrefix(fields.Path, pointer+"/")
		if pointer == fields.Path || strings.HasPrefix(pointer, fields.Path+"/") || !is.unchanged && (below || appends(fields.Path, fields.Value, pointer, value, p.later)) {
			place, found = report.Place{File: p.file, Line: p.line - 1 + operation.Line}, true // the last one counts
		}
	}
	return place, found
}

// appends reports whether an operation that appends the element to the list at the path gives the field its value.
func appends(path string, element any, pointer string, value any, later affix) bool {
	list, end := strings.CutSuffix(path, "-")
	at, within := strings.CutPrefix(pointer, list)
	if !end || !within || !strings.HasSuffix(list, "/") {
		return false
	}
	keys := strings.Split(at, "/")
	if _, err := strconv.Atoi(keys[0]); err != nil {
		return false
	}
	for _, key := range keys[1:] {
		switch in := element.(type) {
		case map[string]any:
			element = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return false
			}
			element = in[i]
		default:
			return false
		}
	}
	return later.same(element, value, keys[len(keys)-1])
}

// fieldOf returns the last field of a path.
func fieldOf(path string) string { return path[strings.LastIndexAny(path, ".[")+1:] }

// same reports whether the value is what was given for the field, but for what is put around names: with name references, kustomize does so in
// routes too.
func (a affix) same(given, value any, field string) bool {
	switch given := given.(type) {
	case map[string]any:
		made, _ := value.(map[string]any)
		for name, of := range given {
			if got, found := made[name]; !found || !a.same(of, got, name) {
				return false
			}
		}
		return made != nil && len(made) == len(given)
	case []any:
		made, is := value.([]any)
		return is && slices.EqualFunc(given, made, func(of, got any) bool { return a.same(of, got, "") })
	case string:
		return value == given || field == "name" && value == a.prefix+given+a.suffix
	}
	return same(given, value)
}

// same reports whether the values are the same in JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// Place returns where the field's value comes from: for what was built, the source of the
// object, what sets the field, or the kustomization.
func (d *Document) Place(f *File, path string) report.Place {
	written := report.Place{File: f.Name, Line: d.Line(path)}
	if f.sets == nil {
		return written
	}
	value, _, found := d.Field(path)
	lacked := !found
	for ; !found && path != ""; value, _, found = d.Field(path) {
		path = path[:max(0, strings.LastIndexAny(path, ".["))] // what is not there is missing in what is around it
	}
	var source any
	has := false
	if d.Written != nil {
		source, _, has = d.Written.Field(path)
	}
	if path == "" {
		return written
	}
	unchanged := has && same(source, value)
	// A patch that sets what the source has, such as of another element of a list that it replaces, is what to edit.
	if place, found := f.sets(d, path, value, state{unchanged, lacked}); found {
		return place
	}
	if unchanged {
		return written
	}
	if _, isMap := value.(map[string]any); isMap && has {
		return written
	}
	if _, isList := value.([]any); isList && has {
		return written
	}
	if d.Written == nil { // it is of the file as a whole
		return written
	}
	return report.Place{File: f.kustomization, Line: 1}
}
