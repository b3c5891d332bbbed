// Package version says what a program was built from.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release and commit are set by the linker, as `make release` does.
var release, commit string

// Info is what a program was built from.
type Info struct {
	// Version is that of the release, or else of the module, which names the commit where
	// none is tagged.
	Version string
	// Commit is short, with "+dirty" where the tree had changes; empty if it is not known.
	Commit string
}

// Get returns what this program was built from.
func Get() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, release, commit)
}

// of takes what the linker was told, and else what the build itself noted.
func of(info *debug.BuildInfo, release, commit string) Info {
	return Info{Version: cmp.Or(release, info.Main.Version, "unknown"), Commit: cmp.Or(commit, revision(info.Settings))}
}

// String reads "v1.2.3 (commit 0123abcd, go1.26.0, linux/amd64)".
func (i Info) String() string {
	commit := i.Commit
	if commit != "" {
		commit = "commit " + commit + ", "
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", i.Version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func revision(settings []debug.BuildSetting) string {
	found, dirty := "", ""
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			found = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "+dirty"
		}
	}
	if found == "" {
		return ""
	}
	return found + dirty
}
