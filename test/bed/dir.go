package bed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirPrefix begins the name of a control plane's folder under the system's folder
// for temporary files. The ID of its process follows.
const dirPrefix = "gammaguard-bed-of-"

// newDir makes a folder of this process, and removes those whose processes have
// ended without doing so.
func newDir() (string, error) {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, path := range all {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), dirPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path) // the next start tries again
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
}
