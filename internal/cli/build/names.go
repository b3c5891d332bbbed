package build

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/gammaguard/gammaguard/internal/yaml"
)

// remote is what kustomize fetches, by HTTP or git, wherever it takes a path.
var remote = regexp.MustCompile(`(?i)://|^(git::)?(https?:|[a-z][a-z0-9-]*@|github\.com[/:])|\?(.*&)?(ref|version)=`)

// schemeless is what kustomize takes for remote only if there is no file of that name.
var schemeless = regexp.MustCompile(`(?i)^(git::)?([a-z][a-z0-9-]*@|github\.com[/:])`)

// pathFields are the fields of kustomizations, and of the configurations of generators,
// transformers and validators, that hold paths: of a list, each item; of generated data, what follows the key.
var pathFields = map[string]bool{
	"resources": true, "bases": true, "components": true, "crds": true, "generators": true, "transformers": true, "validators": true,
	"configurations": true, "path": true, "paths": true, "patchesstrategicmerge": true, "patches": true, "files": true, "file": true,
	"envs": true, "env": true, "targetfilepath": true, "argsfromfile": true,
	"repo": true, "chartrepourl": true, "charthome": true, "valuesfile": true, "additionalvaluesfiles": true, "values": true,
}

// freeFields hold what people please: a URL in them is text.
var freeFields = map[string]bool{
	"commonannotations": true, "commonlabels": true, "annotations": true, "labels": true, "metadata": true, "literals": true,
	"options": true, "generatoroptions": true, "valuesinline": true, "patch": true, "data": true, "stringdata": true, "target": true,
}

// plugins are the fields that name configurations of generators, transformers and validators.
var plugins = map[string]bool{"generators": true, "transformers": true, "validators": true}

// bases are the fields that name other kustomizations.
var bases = map[string]bool{"resources": true, "bases": true, "components": true}

// isRemoteName reports whether the path in a field is remote.
func isRemoteName(name string, isFile func(string) bool) bool {
	for _, name := range []string{name, afterKey(name)} {
		if remote.MatchString(name) && (!schemeless.MatchString(name) || !isFile(name)) {
			return true
		}
	}
	return false
}

// afterKey returns the path in KEY=PATH, as generators of ConfigMaps and Secrets have it.
func afterKey(name string) string {
	_, path, found := strings.Cut(name, "=")
	if !found {
		return ""
	}
	return path
}

// EachPath calls the function with each path that a kustomization names, by the name of its field in lower case. Where a
// generator names a file with a key, it is the path behind the key.
func EachPath(kustomization *yaml.Node, visit func(field, path string)) {
	eachPath(kustomization, func(field string, node *yaml.Node) {
		if isInline(field, node.Value) {
			return
		}
		if path := afterKey(node.Value); path != "" && !IsBase(field) {
			visit(field, path)
		}
		visit(field, node.Value)
	})
}

// IsBase reports whether the field, in lower case, names other kustomizations, and files of objects.
func IsBase(field string) bool { return bases[field] }

// IsPatch reports whether the field, in lower case, names patches.
func IsPatch(field string) bool {
	return field == "path" || field == "patches" || field == "patchesstrategicmerge"
}

// visitor visits the paths that documents name.
type visitor struct {
	visit func(field string, node *yaml.Node)
	// seen are the anchors that were visited, by the field for paths that uses them, or by none.
	seen map[anchor]bool
}

type anchor struct {
	node  *yaml.Node
	field string
}

// eachPath visits the paths that a document names, and the field of each.
func eachPath(document *yaml.Node, visit func(field string, node *yaml.Node)) {
	v := &visitor{visit, map[anchor]bool{}}
	v.walk(document, "")
}

func (v *visitor) walk(node *yaml.Node, field string) {
	switch node.Kind {
	case yaml.AliasNode:
		if !pathFields[field] {
			field = ""
		}
		if at := (anchor{node.Alias, field}); !v.seen[at] {
			v.seen[at] = true
			v.walk(node.Alias, field)
		}
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, child := range node.Content {
			v.walk(child, field)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if name := folded(node.Content[i].Value); !freeFields[name] {
				v.walk(node.Content[i+1], name)
			}
		}
	case yaml.ScalarNode:
		if pathFields[field] {
			v.visit(field, node)
		}
	}
}

// folded returns the name as fields are compared where JSON is decoded: without regard to case.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// isInline reports whether the text in a field for paths is the content itself.
func isInline(field, text string) bool {
	return !bases[field] && (strings.Contains(text, "\n") || strings.HasPrefix(strings.TrimSpace(text), "{") || strings.HasPrefix(strings.TrimSpace(text), "["))
}

// optionIn returns a ref that git would take for an option. The error says why that cannot be known.
func optionIn(data []byte) (option string, _ error) {
	all, err := yaml.Documents(data)
	for _, document := range all {
		eachPath(document, func(_ string, node *yaml.Node) {
			_, query, _ := strings.Cut(node.Value, "?")
			values, _ := url.ParseQuery(query)
			for _, ref := range append(values["ref"], values["version"]...) {
				if strings.HasPrefix(ref, "-") {
					option = ref
				}
			}
		})
	}
	return option, err
}
