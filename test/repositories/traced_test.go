//go:build e2e && linux

package repositories

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// traced are the system calls that a tracer writes down: programs that are started, and connections.
const traced = "trace=execve,execveat,connect,bind,listen,sendto"

var (
	// started is a program that was started, and git what the user has it run for --base-ref.
	started = regexp.MustCompile(`execve(?:at)?\((?:[A-Z_0-9]+, )?"([^"]*)".*\) = 0`)
	git     = regexp.MustCompile(`^(/usr)?/(s?bin|lib/git-core)/git$`)
	network = regexp.MustCompile(`(?m)^.*\b(connect|bind|listen|sendto)\(.*$`)
)

// TestTraced plays every command on every repository under a tracer that sees every process and
// every connection: none but the program's own, and none at all.
func TestTraced(t *testing.T) {
	for _, of := range repositories() {
		t.Run(of.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "trace")
			play(t, &of, []string{"strace", "-f", "-qq", "-A", "-s", "200", "-e", traced, "-o", log})
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			own := 0
			for _, call := range started.FindAllStringSubmatch(string(text), -1) {
				switch name := call[1]; {
				case name == program, name == "/proc/self/exe":
					own++
				case !git.MatchString(name):
					t.Errorf("it started %s", name)
				}
			}
			if own == 0 {
				t.Errorf("nothing was traced: %s", text)
			}
			if calls := network.FindAllString(string(text), -1); len(calls) > 0 {
				t.Errorf("it connected: %q", calls)
			}
		})
	}
}
