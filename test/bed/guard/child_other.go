//go:build !linux

package guard

import "syscall"

// childAttributes keeps a Ctrl-C in the terminal from the child, which its parent
// stops in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
