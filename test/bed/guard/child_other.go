//go:build !linux

package guard

import "syscall"

// ChildAttributes keeps a Ctrl-C in the terminal from the child, which its parent
// stops in order.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
