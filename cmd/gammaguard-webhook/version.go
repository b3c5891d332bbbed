package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker: -X main.version=v1.2.3 -X main.commit=0123abcd.
var version, commit string

// buildVersion returns what the binary was built from, as in "v1.2.3 (commit
// 0123abcd, go1.26.0, linux/amd64)".
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionText(info, version, commit)
}

// versionText takes what the linker was told, and else what the build itself noted.
func versionText(info *debug.BuildInfo, version, commit string) string {
	if commit == "" {
		commit = revision(info.Settings)
	}
	if commit != "" {
		commit = "commit " + commit + ", "
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", cmp.Or(version, info.Main.Version, "unknown"), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
