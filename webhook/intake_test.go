package webhook

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/background"
)

// TestIntakeIsBounded: beyond so many bytes at once a request waits, and is then turned
// away; large bodies keep out no others; what was answered leaves its room.
func TestIntakeIsBounded(t *testing.T) {
	o := options(t, world(t, cluster))
	o.intake = newIntake()
	mux := http.NewServeMux()
	Register(mux, o, newEngine(t, nil), nil)
	usual := (&admission{object: routeOn(onCart)}).body(t)
	large := append(append([]byte{}, usual...), bytes.Repeat([]byte(" "), usualBody)...)
	code := func(path string, body []byte) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		mux.ServeHTTP(recorder, req)
		return recorder.Code
	}
	for _, test := range []struct {
		name                  string
		take                  int64
		from                  interface{ TryAcquire(int64) bool }
		release               func(int64)
		wantUsual, wantLarger int
	}{
		{"large bodies", maxLarge, o.intake.large, o.intake.large.Release, http.StatusOK, http.StatusServiceUnavailable},
		{"usual bodies", maxUsual, o.intake.usual, o.intake.usual.Release, http.StatusServiceUnavailable, http.StatusOK},
	} {
		if !test.from.TryAcquire(test.take) {
			t.Fatalf("%s: some still hold their room", test.name)
		}
		if got := code(ValidatePath, usual); got != test.wantUsual {
			t.Errorf("beside %s, a usual one: HTTP %d, want %d", test.name, got, test.wantUsual)
		}
		if got := code(mutatePath, large); got != test.wantLarger {
			t.Errorf("beside %s, a large one: HTTP %d, want %d", test.name, got, test.wantLarger)
		}
		test.release(test.take)
		for _, path := range []string{ValidatePath, mutatePath} {
			if a, b := code(path, usual), code(path, large); a != http.StatusOK || b != http.StatusOK {
				t.Errorf("after %s, %s: HTTP %d, %d", test.name, path, a, b)
			}
		}
	}
}

// waiting is a cache that is not complete as long as anybody waits for it.
type waiting struct{ began, ended atomic.Int32 }

func (*waiting) HasSynced() bool { return false }
func (*waiting) Stale() error    { return nil }

func (w *waiting) WaitForSync(ctx context.Context) error {
	w.began.Add(1)
	<-ctx.Done()
	w.ended.Add(1)
	return ctx.Err()
}

// TestClientGone: a request that nobody waits for any more ends, and leaves its room.
func TestClientGone(t *testing.T) {
	o := options(t, world(t, cluster))
	o.intake = newIntake()
	sync := new(waiting)
	o.Sync = sync
	mux := http.NewServeMux()
	Register(mux, o, newEngine(t, nil), nil)
	var served atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mux.ServeHTTP(w, req)
		served.Add(1)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	ended := make(chan error, 2)
	for _, path := range []string{ValidatePath, mutatePath} {
		body := (&admission{object: routeOn(onCart)}).body(t)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path+"?timeout=30s", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		go func() {
			response, err := server.Client().Do(req)
			if err == nil {
				_ = response.Body.Close()
			}
			ended <- err
		}()
	}
	background.Eventually(t, func() string {
		if sync.began.Load() < 2 {
			return "not both wait yet"
		}
		return ""
	})
	if o.intake.usual.TryAcquire(maxUsual) {
		t.Error("those who wait take no room")
	}
	cancel()
	for range 2 {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("the client got %v", err)
		}
	}
	background.Eventually(t, func() string {
		if sync.ended.Load() < 2 || served.Load() < 2 || !o.intake.usual.TryAcquire(maxUsual) {
			return "a request is under way"
		}
		return ""
	})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("they ended after %s", took)
	}
}
