//go:build e2e && linux

package repositories

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// traced are the system calls that a tracer writes down: programs that are started, and connections.
const traced = "trace=execve,execveat,connect,bind,listen,sendto"

var (
	// started is a program that was started, and its those that the CI systems start, and the user: git, for
	// --base-ref, which has a shell start the other side of the job's fetch.
	started = regexp.MustCompile(`execve(?:at)?\((?:[A-Z_0-9]+, )?"([^"]*)".*\) = 0`)
	its     = regexp.MustCompile(`^execve\((?:"(/usr)?/(s?bin|lib/git-core)/git(-upload-pack)?", |"(/usr)?/bin/(bash|dirname|env)", |` +
		`"[^"]*/(built/(go|make)|(offered|fetched)/\.ci/gammaguard)", |"/bin/sh", \["/bin/sh", "-c", "git-upload-pack '[^']*/offered\.git'", )`)
	network = regexp.MustCompile(`(?m)^.*\b(connect|bind|listen|sendto)\(.*$`)
	// user is what the C library asks for bash and git, whose user it is, where HOME or SHELL is not set.
	user = regexp.MustCompile(`\bconnect\(\d+, \{sa_family=AF_UNIX, sun_path="/(var/)?run/nscd/socket"\}`)
)

// TestTraced plays every command on every repository under a tracer that sees every process and
// every connection: none but the program's own, and none at all.
func TestTraced(t *testing.T) {
	ofSystems := systems(t)
	for _, of := range repositories() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "trace")
			play(t, &of, ofSystems, []string{"strace", "-f", "-qq", "-A", "-s", "200", "-e", traced, "-o", log})
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			own := 0
			for _, call := range started.FindAllStringSubmatch(string(text), -1) {
				switch name := call[1]; {
				case name == program, name == "/proc/self/exe", strings.HasSuffix(name, "/bin/gammaguard"):
					own++
				case !its.MatchString(call[0]):
					t.Errorf("it started %s", call[0])
				}
			}
			if own == 0 {
				t.Errorf("nothing was traced: %s", text)
			}
			calls := slices.DeleteFunc(network.FindAllString(string(text), -1), user.MatchString)
			if len(calls) > 0 {
				t.Errorf("it connected: %q", calls)
			}
		})
	}
}
