// Package background runs what a test needs beside it, and waits for what comes of it.
package background

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Start runs what ends with its context until stop is called or the test ends, and
// fails the test where it fails.
func Start(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("what the test started failed: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Eventually waits until nothing is missing, and fails the test with what it last
// said was.
func Eventually(t testing.TB, condition func() (missing string)) {
	t.Helper()
	missing := ""
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		missing = condition()
		return missing == "", nil
	})
	if err != nil {
		t.Fatalf("%v: %s", err, missing)
	}
}
