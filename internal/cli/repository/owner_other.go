//go:build !unix

package repository

import "io/fs"

// sameOwner reports true: owners are not compared here.
func sameOwner(_, _ fs.FileInfo) bool { return true }
