package guard

import "syscall"

// ChildAttributes keeps a Ctrl-C in the terminal from the child, which its parent
// stops in order, and ends it with its parent, however that ends.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
