package bed

import (
	"sync"
	"testing"
)

// TestFreePort: nobody is given a port that another has, though nobody listens on it yet.
func TestFreePort(t *testing.T) {
	var mu sync.Mutex
	given := make(map[int]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 250 {
				port, err := FreePort(t.Context())
				mu.Lock()
				if err != nil || given[port] || port < firstPort || port >= firstPort+ports {
					t.Errorf("port %d, given before: %t, error: %v", port, given[port], err)
				}
				given[port] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
