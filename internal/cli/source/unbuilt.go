package source

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/cli/build"
)

// Unbuilt is a file or folder that was read as plain files, and the folders at or below it with a kustomization or a chart.
type Unbuilt struct {
	Name                   string
	Kustomizations, Charts []string
	// Components are the directories of components, if none of the others has a kustomization that can be built by itself.
	Components []string
	// isChart has the charts, by their absolute paths.
	isChart map[string]bool
}

// Unbuilt returns what of the names was read as plain files. It is nothing for a set, which was found as what it is, unless a project
// names the files of it.
func (in *Input) Unbuilt(names []string, projected bool) []Unbuilt {
	if in.taken != nil && !projected {
		return nil
	}
	all := slices.DeleteFunc(slices.Clone(in.unbuilt), func(u Unbuilt) bool {
		return len(u.Kustomizations)+len(u.Charts) == 0 || !slices.Contains(names, u.Name)
	})
	for i := range all {
		all[i].split(in.Disk.Read)
	}
	return all
}

// split tells the components from the kustomizations that can be built by themselves.
func (u *Unbuilt) split(read func(string) ([]byte, error)) {
	var whole, components []string
	for _, folder := range u.Kustomizations {
		data, err := read(build.KustomizationFile(folder))
		if component, _ := KindOf(data); err == nil && component {
			components = append(components, folder)
		} else {
			whole = append(whole, folder)
		}
	}
	if u.Kustomizations = whole; len(whole) == 0 {
		u.Components = components
	}
}

// Around returns the kustomizations that use a file among the names, and the charts that a file or a folder is in, with it as the name: the closest
// kustomization above it, as far as the root of the repository. It is nothing for a set, and for a folder that Unbuilt returns.
func (in *Input) Around(names []string) (all []Unbuilt) {
	for _, name := range names {
		info, err := os.Stat(name)
		if in.taken != nil || name == Stdin || err != nil || slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(name)) ||
			len(in.Unbuilt([]string{name}, false)) > 0 {
			continue
		}
		around := Unbuilt{Name: name}
		if chart := outermost(name); chart != name {
			around.see(filepath.Join(chart, ChartFile))
		} else if info.IsDir() {
			continue
		} else if folder := in.user(name); folder != "" {
			around.see(build.KustomizationFile(folder))
			around.split(in.Disk.Read)
		}
		if len(around.Kustomizations)+len(around.Components)+len(around.Charts) > 0 {
			all = append(all, around)
		}
	}
	return all
}

// user returns the closest folder above the file with a kustomization that uses it; empty for none.
func (in *Input) user(file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	for _, folder := range Above(absolute) {
		switch used := Uses(in.Disk.Read, folder); {
		case !in.Files.Inside(folder):
			return ""
		case slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(path string) bool { return build.Real(path) == build.Real(absolute) }):
			return short(file, folder)
		}
	}
	return ""
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
		if absolute, err := filepath.Abs(folder); err == nil {
			u.isChart[absolute] = true
		}
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), name):
		u.Kustomizations = append(u.Kustomizations, folder)
	}
}

// Template reports whether the file is in a chart, or in a folder of one.
func (u *Unbuilt) Template(path string) bool {
	absolute, err := filepath.Abs(path)
	return err == nil && slices.ContainsFunc(Above(absolute), func(folder string) bool { return u.isChart[folder] })
}
