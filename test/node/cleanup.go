package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// cleanUpTimeout bounds the wait for processes that the kernel is ending.
const cleanUpTimeout = 20 * time.Second

// cleanUp removes what is left of a cluster whose supervisor has ended: cgroups,
// the network namespace, the folder, and mount points that were made for it.
func cleanUp(ctx context.Context, dir string) error {
	errs := []error{removeCgroups(ctx), deleteNetwork(ctx), os.RemoveAll(dir)}
	for _, point := range mountPoints {
		if err := os.Remove(point); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EBUSY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeCgroups removes the Pods' cgroups, the innermost first. It waits while
// there are processes in them: the kernel is ending those.
func removeCgroups(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cleanUpTimeout, true, func(context.Context) (bool, error) {
		last = tryRemoveCgroups()
		return !errors.Is(last, syscall.EBUSY), nil
	})
	if err != nil || last != nil {
		return fmt.Errorf("remove the Pods' cgroups: %w", errors.Join(err, last))
	}
	return nil
}

func tryRemoveCgroups() error {
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
