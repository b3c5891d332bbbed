// Package chart makes the Helm chart of the kustomize tree. An object of the chart is
// what kustomize makes of the tree; a component is a condition in it, and values stand in
// the places of what users set.
package chart

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/gammaguard/gammaguard/config"
)

// always is the component that the chart has whatever the values are.
const always = "high-availability"

// Options are what a chart is made for.
type Options struct {
	// Version is that of the release, "v1.2.3". The chart's own is the same, without v.
	Version string
	// Image is the name of the webhook's image, with its registry and without a tag.
	Image string
}

// files returns the chart's files, by their paths in its folder.
func files(o Options) (map[string][]byte, error) {
	m, err := newMaker(o)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{
		"Chart.yaml":          fmt.Appendf(nil, metadata, strings.TrimPrefix(o.Version, "v"), o.Version),
		"templates/NOTES.txt": []byte(notes),
	}
	for _, object := range m.objects {
		p := printer{replace: m.replace}
		p.begin(object.guard)
		p.parts(object.node, 0)
		p.end(object.guard)
		all[path.Join("templates", object.file)] = p.Bytes()
	}
	if all["values.yaml"], err = m.schema.defaults(""); err != nil {
		return nil, err
	}
	all["values.schema.json"], err = json.MarshalIndent(m.schema, "", "  ")
	return all, err
}

// Write writes the chart into a folder, in which nothing else is left.
func Write(o Options, folder string) error {
	files, err := files(o)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, data := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Values returns the values of a chart, by name.
func Values(o Options) ([]Value, error) {
	m, err := newMaker(o)
	if err != nil {
		return nil, err
	}
	return m.schema.values(""), nil
}

const metadata = `apiVersion: v2
name: gammaguard
description: Admission control for Gateway API mesh routes
home: https://github.com/gammaguard/gammaguard
type: application
version: %q
appVersion: %q
kubeVersion: ">=1.30.0-0"
`

const notes = `Wait until gammaguard is ready:

  kubectl rollout status -n {{ .Release.Namespace }} deployment/gammaguard-webhook

Check that it refuses a bad route, which is not stored:

  gammaguard preflight --installed --installation {{ .Release.Namespace }}/gammaguard-webhook --wait 1m

Mesh routes need a grant, which a mesh admin gives to their namespace:

  kubectl label namespace <namespace> gammaguard.dev/grant=producer
`

// maker makes a chart.
type maker struct {
	schema  schema
	objects []*object
	replace *strings.Replacer
}

// object is one template.
type object struct {
	*node
	kind, name string
	file       string
}

func newMaker(o Options) (*maker, error) {
	s, err := newSchema()
	if err != nil {
		return nil, err
	}
	m := &maker{schema: s}
	base, err := Build("base", always)
	if err != nil {
		return nil, err
	}
	plain := map[string]map[string]any{}
	for _, manifest := range base {
		if o := m.add(manifest, "", ""); o != nil {
			plain[o.file] = manifest
		}
	}
	for _, component := range componentNames() {
		varied, err := Build("base", always, component)
		if err != nil {
			return nil, err
		}
		for _, manifest := range varied {
			o := m.find(manifest)
			if before, ok := plain[fileOf(manifest)]; ok {
				if !reflect.DeepEqual(before, manifest) {
					o.vary(before, manifest, guards(component))
				}
			} else {
				m.add(manifest, component, guards(component))
			}
		}
	}
	err = m.place(o)
	return m, err
}

// add has the chart have the object. The namespace is Helm's to make.
func (m *maker) add(manifest map[string]any, component, guard string) *object {
	o := &object{node: newNode("", guard, manifest), file: path.Join(component, fileOf(manifest))}
	o.kind, _ = manifest["kind"].(string)
	o.name, _ = o.at("metadata", "name").plain.(string)
	if o.kind == "Namespace" {
		return nil
	}
	m.objects = append(m.objects, o)
	return o
}

// find returns the object that is there without components.
func (m *maker) find(manifest map[string]any) *object {
	for _, o := range m.objects {
		if o.file == fileOf(manifest) {
			return o
		}
	}
	return nil
}

// hash is what kustomize adds to the name of a ConfigMap that it makes.
var hash = regexp.MustCompile(`-[a-z0-9]{10}$`)

// fileOf returns the name of an object's template.
func fileOf(manifest map[string]any) string {
	metadata, _ := manifest["metadata"].(map[string]any)
	name := fmt.Sprintf("%s-%s", manifest["kind"], metadata["name"])
	if manifest["kind"] == "ConfigMap" {
		name = hash.ReplaceAllString(name, "")
	}
	return strings.ToLower(name) + ".yaml"
}

// Build returns what kustomize makes of a folder of config with components.
func Build(folder string, components ...string) ([]map[string]any, error) {
	files := filesys.MakeFsInMemory()
	err := fs.WalkDir(config.Manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := config.Manifests.ReadFile(name)
		if err != nil {
			return err
		}
		return files.WriteFile(path.Join("/config", name), data)
	})
	if err != nil {
		return nil, err
	}
	text := "resources: [../" + path.Join("config", folder) + "]\ncomponents:\n"
	for _, component := range components {
		text += "- ../config/components/" + component + "\n"
	}
	if err := files.WriteFile("/chart/kustomization.yaml", []byte(text)); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/chart")
	if err != nil {
		return nil, fmt.Errorf("kustomize build of config/%s with components %v: %w", folder, components, err)
	}
	var all []map[string]any
	for _, resource := range built.Resources() {
		manifest, err := resource.Map()
		if err != nil {
			return nil, err
		}
		all = append(all, manifest)
	}
	return all, nil
}
