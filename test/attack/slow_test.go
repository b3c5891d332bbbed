package attack

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// slowCallers is how many connections are opened at once, and hangUp how long they
	// may last.
	slowCallers = 200
	hangUp      = 30 * time.Second
)

// TestSlowBodies opens many connections that send all but the last byte of a large
// request. They are closed, others are served meanwhile, and the webhook's process stays
// small.
func TestSlowBodies(t *testing.T) {
	s := start(t)
	s.namespace(t, "slow", "all")
	webhook := newCaller(s.guard.URL, s.guard.CA)
	defer webhook.client.CloseIdleConnections()
	body := review("slow", `{"parentRefs": [`+parentOnCart+`], "other": "`+strings.Repeat("x", largest-2<<10)+`"}`)
	request := fmt.Sprintf("POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)-1])
	dialer := &tls.Dialer{NetDialer: elsewhere, Config: webhook.client.Transport.(*nethttp.Transport).TLSClientConfig}
	address, last := strings.TrimPrefix(s.guard.URL, "https://"), time.Now().Add(hangUp)
	var callers sync.WaitGroup
	for range slowCallers {
		callers.Go(func() {
			conn, err := dialer.DialContext(t.Context(), "tcp", address)
			if err != nil {
				return // there was no room for it
			}
			defer conn.Close() //nolint:errcheck // it has been closed
			_ = conn.SetDeadline(last)
			_, err = io.WriteString(conn, request) // the other side may close first
			if err == nil {
				_, err = io.Copy(io.Discard, conn)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a connection that sends slowly is open after %s", hangUp)
			}
		})
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		callers.Wait()
	}()
	good := `{"parentRefs": [` + parentOnCart + `], "rules": [{"backendRefs": [` + backendOnCart + `]}]}`
	var slowest time.Duration
	for calls := 0; ; calls++ {
		begun := time.Now()
		if allowed, err := webhook.call(t.Context(), "/validate", "slow", good); err != nil || !allowed {
			t.Errorf("another caller: allowed: %v, %v", allowed, err)
		}
		slowest = max(slowest, time.Since(begun))
		select {
		case <-served:
			t.Logf("%d calls meanwhile, the slowest took %s", calls, slowest)
			s.wantSmall(t)
			return
		default:
		}
	}
}
