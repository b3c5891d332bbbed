package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killPods kills the shims of the cluster whose files are in dir, and every process
// in the Pods' cgroups, and waits until they are gone.
func killPods(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		pids, err := podProcesses()
		if err != nil {
			return err
		}
		if pids = append(pids, shims(dir)...); len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill the Pods' processes %v: %w", pids, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// shims returns containerd's shims, which outlive it: they name its socket.
func shims(dir string) []int {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var pids []int
	for _, path := range commands {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), "containerd-shim") || !strings.Contains(string(data), dir+"/containerd.sock") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// podProcesses returns the processes in the Pods' cgroups.
func podProcesses() ([]int, error) {
	var pids []int
	for _, dir := range cgroups() {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			if err != nil {
				return nil //nolint:nilerr // the cgroup has gone meanwhile
			}
			for field := range strings.FieldsSeq(string(procs)) {
				if pid, err := strconv.Atoi(field); err == nil && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the Pods' processes: %w", err)
		}
	}
	return pids, nil
}

// unmountBelow unmounts everything below the folder, the innermost first.
func unmountBelow(dir string) error {
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var errs []error
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(string(data)), "\n")) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[1], dir+"/") {
			continue
		}
		if err := syscall.Unmount(fields[1], syscall.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", fields[1], err))
		}
	}
	return errors.Join(errs...)
}

// removeCgroups removes the Pods' cgroups, the innermost first.
func removeCgroups() error {
	var errs []error
	for _, root := range cgroups() {
		var dirs []string
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
