package source

import (
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
)

// Unbuilt is a file or folder that was read as plain files, and the folders at or below it with a kustomization or a chart.
type Unbuilt struct {
	Name                   string
	Kustomizations, Charts []string
	// isChart has the charts.
	isChart map[string]bool
}

// Unbuilt returns what of the names was read as plain files. It is nothing for a set, which was found or named as what it is.
func (in *Input) Unbuilt(names []string) []Unbuilt {
	if in.taken != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(in.unbuilt), func(u Unbuilt) bool {
		return len(u.Kustomizations)+len(u.Charts) == 0 || !slices.Contains(names, u.Name)
	})
}

// ToBuild returns the folders with a kustomization or a chart at or below the paths.
func ToBuild(paths []string) (folders []string) {
	in := &Input{}
	for _, path := range paths {
		in.walk(path, nil)
	}
	for i := range in.unbuilt {
		folders = append(append(folders, in.unbuilt[i].Kustomizations...), in.unbuilt[i].Charts...)
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// see notes a file that makes its folder a kustomization or a chart, unless that is part of a chart.
func (u *Unbuilt) see(path string) {
	folder, name := filepath.Dir(path), filepath.Base(path)
	switch {
	case u.Template(path):
	case name == ChartFile:
		u.Charts = append(u.Charts, folder)
		if u.isChart == nil {
			u.isChart = map[string]bool{}
		}
		u.isChart[folder] = true
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), name):
		u.Kustomizations = append(u.Kustomizations, folder)
	}
}

// Template reports whether the file is in a chart, or in a folder of one.
func (u *Unbuilt) Template(path string) bool {
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		if u.isChart[folder] {
			return true
		}
		if folder == filepath.Dir(folder) {
			return false
		}
	}
}
