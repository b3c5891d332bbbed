//go:build e2e

package browser

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// chromium is a command that runs Chromium without a window, with a profile of its own. The processes that it starts
// outlive it by a moment, and write to the profile meanwhile: they end with it as one group, and the profile is removed
// when the last of them has let go. A profile that stays is no failure of what is tested.
func chromium(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile}, args...)
	cmd := exec.CommandContext(ctx, "chromium", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started
		}
		for range 100 {
			if err = os.RemoveAll(profile); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Logf("the profile of Chromium: %v", err)
	})
	return cmd
}
