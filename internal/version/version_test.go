package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestString(t *testing.T) {
	platform := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	noted := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: "true"},
	}}
	noted.Main.Version = "v1.2.3"
	for _, test := range []struct {
		name, version, commit string
		info                  *debug.BuildInfo
		want                  string
	}{
		{name: "nothing known", info: &debug.BuildInfo{}, want: "unknown (" + platform},
		{name: "noted by the build", info: noted, want: "v1.2.3 (commit 0123456789ab+dirty, " + platform},
		{name: "told by the linker", version: "v2", commit: "beef", info: noted, want: "v2 (commit beef, " + platform},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, of(test.info, test.version, test.commit).String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
