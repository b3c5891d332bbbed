package command

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/gammaguard/gammaguard/internal/temporary"
)

// TestLimits: a command that takes more than it may ends with an error that says what, and where.
func TestLimits(t *testing.T) {
	set := "directory m"
	underway.Store(&set)
	t.Cleanup(func() { underway.Store(nil) })
	for want, limits := range map[string]limits{
		"it takes more than 1 MiB of memory, while it checks directory m": {time: time.Hour, memory: 1 << 20},
		"it takes longer than 1ns, while it checks directory m":           {time: 1, memory: math.MaxInt64},
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

// TestExit: a command that is ended leaves no temporary folder, and not some files written and others not.
func TestExit(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder, _, err := temporary.Folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ended := make(chan int)
	release := hold()
	go exit(&said, func(code int) { ended <- code })(errors.New("too long"))
	select {
	case <-ended:
		t.Error("it ends while files are written")
	case <-time.After(100 * time.Millisecond):
	}
	release()
	if code := <-ended; code != ExitUsage || said.String() != "error: too long\n" {
		t.Errorf("%d: %s", code, &said)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	writing.Unlock()
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
	if got := strings.Join(with, " "); got != "check diff graph test trace verify" {
		t.Errorf("limited are %s", got)
	}
}
