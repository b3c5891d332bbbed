package command

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/temporary"
)

// limits are what a command may take that reads a repository, whatever the repository holds. The bounds of
// what is read keep a command far below them; they are for what these bounds do not foresee.
type limits struct {
	time   time.Duration
	memory uint64 // bytes
}

var ofRepositories = limits{time: 10 * time.Minute, memory: 4 << 30}

// underway is the set that is being checked, if there are several.
var underway atomic.Pointer[string]

// limited reports whether the command has limits: it reads repositories, and ends by itself.
func limited(cmd *cobra.Command) bool {
	watch := cmd.Flags().Lookup("watch")
	return slices.Contains([]string{"check", "diff", "graph", "test", "trace", "verify"}, cmd.Name()) && (watch == nil || watch.Value.String() != "true")
}

// enforce calls exceeded, once, when the process takes more than its limits, with which it is.
func (l *limits) enforce(exceeded func(err error)) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // the user set none
		debug.SetMemoryLimit(int64(l.memory / 4 * 3)) //nolint:gosec // it is a constant, or a test's
	}
	end := time.Now().Add(l.time)
	go build.Watch(func(inUse uint64) bool {
		switch {
		case inUse > l.memory:
			exceeded(fmt.Errorf("it takes more than %d MiB of memory%s", l.memory>>20, during()))
		case time.Now().After(end):
			exceeded(fmt.Errorf("it takes longer than %v%s", l.time, during()))
		default:
			return true
		}
		return false
	})
}

// during says what was being done.
func during() string {
	if set := underway.Load(); set != nil {
		return ", while it checks " + *set
	}
	return ""
}

// writing is held while files of the repository are written, so that a command does not end between them.
var writing sync.Mutex

// hold keeps the command from ending until the function that it returns is called.
func hold() (release func()) {
	writing.Lock()
	return writing.Unlock
}

// exit ends the program in the middle of a command, and leaves nothing behind.
func exit(stderr io.Writer, end func(code int)) func(err error) {
	return func(err error) {
		hold() // for good
		temporary.RemoveAll()
		printable.Fprintf(stderr, "error: %s\n", err)
		end(ExitUsage)
	}
}
