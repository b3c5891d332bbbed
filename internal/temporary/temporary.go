// Package temporary makes temporary folders that do not stay behind where the program ends in the middle of something.
package temporary

import (
	"os"
	"sync"
)

var (
	mu      sync.Mutex
	folders = map[string]bool{}
)

// Folder makes a folder, which only the user may read. Remove removes it with all that is in it.
func Folder() (folder string, remove func() error, err error) {
	mu.Lock()
	defer mu.Unlock()
	if folder, err = os.MkdirTemp("", "gammaguard-"); err != nil {
		return "", nil, err
	}
	folders[folder] = true
	return folder, func() error {
		mu.Lock()
		delete(folders, folder)
		mu.Unlock()
		return os.RemoveAll(folder)
	}, nil
}

// RemoveAll removes all folders that were not removed, when the program is about to end.
func RemoveAll() {
	mu.Lock()
	defer mu.Unlock()
	for folder := range folders {
		for range 3 { // what is being written meanwhile may be in the way
			if os.RemoveAll(folder) == nil {
				break
			}
		}
	}
}
