package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// overlays are the kustomizations that are released, by the name of their file.
func (r *release) overlays() (map[string]string, error) {
	overlays := map[string]string{"default": "config/default"}
	entries, err := os.ReadDir(filepath.Join(r.root, "config", "overlays"))
	for _, entry := range entries {
		overlays[entry.Name()] = path.Join("config/overlays", entry.Name())
	}
	return overlays, err
}

// manifests writes what each overlay installs, with the image of the release, for
// `kubectl apply -f`.
func (r *release) manifests() error {
	overlays, err := r.overlays()
	if err != nil {
		return err
	}
	for name, overlay := range overlays {
		text, err := r.render(overlay)
		if err != nil {
			return fmt.Errorf("%s: %w", overlay, err)
		}
		if err := r.write("install-"+name+".yaml", text); err != nil {
			return err
		}
	}
	return nil
}

// render builds the overlay under a kustomization that names the image.
func (r *release) render(overlay string) ([]byte, error) {
	disk, files := filesys.MakeFsOnDisk(), filesys.MakeFsInMemory()
	root := filepath.Join(r.root, "config")
	err := disk.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		relative, err := filepath.Rel(r.root, path)
		if err != nil {
			return err
		}
		data, err := disk.ReadFile(path)
		if err != nil {
			return err
		}
		return files.WriteFile("/"+filepath.ToSlash(relative), data)
	})
	if err != nil {
		return nil, err
	}
	kustomization := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../%s]\n"+
		"images: [{name: %s, newName: %q, newTag: %q}]\n", overlay, webhook, r.image, r.version)
	if err := files.WriteFile("/release/kustomization.yaml", []byte(kustomization)); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl: what refuses requests comes last
	built, err := krusty.MakeKustomizer(options).Run(files, "/release")
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// notes writes the release's section of the changelog: that of its version, or, for a
// version that has none yet, what is unreleased.
func (r *release) notes() error {
	data, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	for _, title := range []string{strings.TrimPrefix(r.version, "v"), r.version, "Unreleased"} {
		for section := range strings.SplitSeq(string(data), "\n## ") {
			heading, text, _ := strings.Cut(section, "\n")
			if fields := strings.Fields(heading); len(fields) > 0 && strings.Trim(fields[0], "[]") == title {
				return r.write("RELEASE_NOTES.md", []byte("# "+r.version+"\n\n"+strings.TrimSpace(text)+"\n"))
			}
		}
	}
	return errors.New("CHANGELOG.md has no section for the version, and no Unreleased")
}

var plugin = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: gammaguard
spec:
  version: {{.Version}}
  homepage: https://github.com/gammaguard/gammaguard
  shortDescription: Check, trace and compare Gateway API mesh routes
  description: |
    Applies the rules of the gammaguard admission webhook to manifests and
    clusters, and shows where the requests of a service mesh go.
  platforms:
{{- range .Platforms}}
  - selector:
      matchLabels: {os: {{.OS}}, arch: {{.Arch}}}
    uri: {{.URI}}
    sha256: {{.SHA256}}
    bin: {{.Bin}}
{{- end}}
`))

// krew writes the manifest by which krew installs the command line as a plugin of
// kubectl.
func (r *release) krew() error {
	type download struct{ OS, Arch, URI, SHA256, Bin string }
	var downloads []download
	for _, p := range r.platforms {
		if !r.has(cli, p) {
			continue
		}
		sum, err := sha256Of(filepath.Join(r.out, r.archiveName(p)))
		if err != nil {
			return err
		}
		uri := strings.TrimSuffix(r.downloads, "/") + "/" + r.archiveName(p)
		downloads = append(downloads, download{p.os, p.arch, uri, sum, filepath.Base(r.binary(cli, p))})
	}
	if len(downloads) == 0 {
		return nil
	}
	var text bytes.Buffer
	if err := plugin.Execute(&text, map[string]any{"Version": r.version, "Platforms": downloads}); err != nil {
		return err
	}
	return r.write("krew-gammaguard.yaml", text.Bytes())
}
