// Package kustomize builds the kustomize tree of config, as users do.
package kustomize

import (
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/gammaguard/gammaguard/config"
)

// Build returns what kustomize makes of a folder of config, such as "overlays/gitops", with
// folders of config/components.
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
	if err := files.WriteFile("/build/kustomization.yaml", []byte(text)); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/build")
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
