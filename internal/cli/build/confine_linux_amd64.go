package build

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// refusedHere are system calls that other architectures do not have.
var refusedHere = []uint32{unix.SYS_OPEN, unix.SYS_CREAT}
