//go:build unix

package repository

import (
	"io/fs"
	"os"
	"syscall"
)

// sameOwner reports whether what is above belongs to the owner of the folder, to the user, or to root.
func sameOwner(folder, above fs.FileInfo) bool {
	of, known := folder.Sys().(*syscall.Stat_t)
	by, also := above.Sys().(*syscall.Stat_t)
	return !known || !also || by.Uid == of.Uid || by.Uid == 0 || int(by.Uid) == os.Getuid()
}
