// Package unix does not compile for Windows.
package unix

import "syscall"

// Umask is not there on Windows.
var Umask = syscall.Umask
