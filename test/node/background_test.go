//go:build linux

package node

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMachineHasOnePlace takes the place as Up does, and has a process inherit it, as
// launch does. It is held until that process ends, by whichever signal.
func TestMachineHasOnePlace(t *testing.T) {
	const mine, other = "/a/.cache/cluster", "/b/.cache/cluster"
	path := filepath.Join(t.TempDir(), "place")
	refused := func(dir, want string) {
		t.Helper()
		_, err := take(path, dir)
		if _, again := supervisor(path, dir); err == nil || !strings.Contains(err.Error(), want) || dir == other && (again == nil || again.Error() != err.Error()) {
			t.Errorf("want %q, got %v and %v", want, err, again)
		}
	}
	place, err := take(path, mine)
	if err != nil {
		t.Fatal(err)
	}
	refused(mine, "is being started on this machine, by make cluster-up or make e2e in /a:")
	refused(other, "is being started on this machine, by make cluster-up or make e2e in /a:")
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.ExtraFiles = append(cmd.ExtraFiles, place)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(place, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := place.Close(); err != nil {
		t.Fatal(err)
	}
	refused(other, "of the clone in /a: stop it with make -C /a cluster-down")
	refused(mine, "of the clone in /a: stop it with make -C /a cluster-down")
	if pid, err := supervisor(path, mine); pid != cmd.Process.Pid || err != nil {
		t.Errorf("process %d runs the cluster, want %d: %v", pid, cmd.Process.Pid, err)
	}
	_ = errors.Join(cmd.Process.Kill(), cmd.Wait()) // it was killed
	for _, dir := range []string{mine, other} {
		if pid, err := supervisor(path, dir); pid != 0 || err != nil {
			t.Errorf("process %d runs a cluster: %v", pid, err)
		}
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
