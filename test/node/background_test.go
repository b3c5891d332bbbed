//go:build linux

package node

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestSupervisorIsNotAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	if pid, running := supervisor(dir); running {
		t.Errorf("without a file, process %d runs a cluster", pid)
	}
	for _, test := range []struct{ name, pid string }{
		{"this process", strconv.Itoa(os.Getpid())},
		{"no process", "2147483647"},
		{"no number", "x"},
		{"nothing", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(test.pid), 0o600); err != nil {
				t.Fatal(err)
			}
			if pid, running := supervisor(dir); running {
				t.Errorf("process %d runs a cluster", pid)
			}
		})
	}
}

func TestCheckLength(t *testing.T) {
	if err := checkLength("/home/me/gammaguard/.cache/cluster"); err != nil {
		t.Error(err)
	}
	long := "/" + strings.Repeat("x", 100)
	if err := checkLength(long); err == nil || !strings.Contains(err.Error(), "shorter path") {
		t.Errorf("%s: %v", long, err)
	}
}
