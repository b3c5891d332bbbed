package command

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestLimits: a command that takes more than it may ends with an error that says what, and where.
func TestLimits(t *testing.T) {
	set := "folder m"
	underway.Store(&set)
	t.Cleanup(func() { underway.Store(nil) })
	for want, limits := range map[string]limits{
		"it takes more than 1 MiB of memory, while it checks folder m": {time: time.Hour, memory: 1 << 20},
		"it takes longer than 1ns, while it checks folder m":           {time: 1, memory: math.MaxInt64},
	} {
		before := debug.SetMemoryLimit(-1)
		said := make(chan error)
		limits.enforce(func(err error) { said <- err })
		if got := (<-said).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		debug.SetMemoryLimit(before)
	}
}

// TestLimited: each command that reads files and ends by itself has limits.
func TestLimited(t *testing.T) {
	var with []string
	for _, cmd := range New("gammaguard", genericiooptions.IOStreams{}).Commands() {
		if limited(cmd) {
			with = append(with, cmd.Name())
		}
		if watch := cmd.Flags().Lookup("watch"); watch != nil {
			if err := watch.Value.Set("true"); err != nil || limited(cmd) {
				t.Errorf("%s --watch is limited: %v", cmd.Name(), err)
			}
		}
	}
	if got := strings.Join(with, " "); got != "check diff graph trace" {
		t.Errorf("limited are %s", got)
	}
}
