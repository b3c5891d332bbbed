// Package orphan ends a server whose test bed is gone, however it went: a test
// binary that is killed, or runs into its timeout, cleans nothing up.
package orphan

import (
	"fmt"
	"os"
	"time"
)

// interval is how long a server may outlive its parent.
const interval = 500 * time.Millisecond

// Exit ends the process when the process that started it has ended. Nothing is
// shut down in order: the data of a test bed dies with it.
func Exit() {
	parent := os.Getppid()
	go func() {
		for range time.Tick(interval) {
			if os.Getppid() != parent {
				fmt.Fprintln(os.Stderr, "the process that started this server has ended: exiting")
				os.Exit(1)
			}
		}
	}()
}
