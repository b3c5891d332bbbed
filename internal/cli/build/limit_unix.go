//go:build unix

package build

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory has the system refuse what is beyond the limit, before it is counted: of the
// heap, and of all that is mapped, since the heap is mapped in places that were reserved
// before. Where the system does neither, the count holds.
func limitMemory() {
	const most = maxMemory / 4 * 5
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
	if size := mapped(); size > 0 {
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: size + most, Max: size + most})
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

// mapped returns how many bytes the process has mapped; 0 if that cannot be known.
func mapped() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	var pages uint64
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
