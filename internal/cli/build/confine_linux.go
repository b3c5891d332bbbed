//go:build linux && (amd64 || arm64)

package build

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine has the kernel refuse the process to start programs, to open sockets and to open files,
// whatever code runs in it. Where the kernel cannot, what Go's libraries refuse must do.
func confine() {
	refused := append([]uint32{
		unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_SENDTO,
		unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_IO_URING_SETUP, unix.SYS_PTRACE,
	}, refusedHere...)
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
		number = 0 // in struct seccomp_data
		arch   = 4
	)
	deny := uint8(len(refused) + 1) // from the test of the architecture on
	filter := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equal, K: architecture, Jt: 0, Jf: deny + 2},
		{Code: load, K: number},
		{Code: least, K: 1 << 30, Jt: deny, Jf: 0}, // of another ABI
	}
	for i, call := range refused {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: uint8(len(refused) - i)})
	}
	filter = append(
		filter,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	)
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(program)))
	runtime.KeepAlive(filter)
}
