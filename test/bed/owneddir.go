package bed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dirPrefix begins the name of a control plane's folder under the system's folder
// for temporary files.
const dirPrefix = "gammaguard-bed-"

// ownedDir is a temporary folder of this process. It stays locked while the
// process lives, which tells others that it is in use.
type ownedDir struct {
	path   string
	unlock func()
}

// newOwnedDir makes a folder, and removes those whose processes have ended
// without doing so.
func newOwnedDir() (*ownedDir, error) {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*.lock"))
	if err != nil {
		return nil, fmt.Errorf("make a folder for the control plane: %w", err)
	}
	for _, lockFile := range old {
		removeStale(lockFile)
	}
	path, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the control plane: %w", err)
	}
	// The lock file gets its name once it is locked: others take one that is not
	// for a leftover.
	unlock, err := lock(context.Background(), path+".unlocked", nil)
	if err == nil {
		err = os.Rename(path+".unlocked", path+".lock")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for the control plane: %w", err), os.RemoveAll(path))
	}
	return &ownedDir{path: path, unlock: unlock}, nil
}

// removeStale removes the folder of a lock file that nobody holds. What cannot be
// removed is another user's, or gone: the next start tries again.
func removeStale(lockFile string) {
	file, err := os.OpenFile(lockFile, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	if os.RemoveAll(strings.TrimSuffix(lockFile, ".lock")) == nil {
		_ = os.Remove(lockFile)
	}
}

// remove removes the folder.
func (d *ownedDir) remove() error {
	err := errors.Join(os.RemoveAll(d.path), os.Remove(d.path+".lock"))
	d.unlock()
	return err
}
