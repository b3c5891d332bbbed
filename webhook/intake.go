package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBody bounds what is read of a request: the 3 MiB that the API server takes
	// from its own clients, and room for what it adds. An object and its old state,
	// which etcd bounds to 1.5 MiB each, fit.
	maxBody = 3<<20 + 128<<10
	// usualBody is a size that few requests exceed. Whatever the larger ones do, these
	// are answered.
	usualBody = 64 << 10
	// maxUsual and maxLarge bound the bytes of usual and of larger bodies that are worked
	// on at once.
	maxUsual, maxLarge = 4 << 20, maxBody
	// maxArriving is how many larger bodies arrive at once, each from another address.
	maxArriving = 2
	// prompt is how long a larger body may take to arrive while others wait to be read.
	prompt = 250 * time.Millisecond
	// maxWait is how long a request waits for others to be answered: the API server waits for
	// its answer for a second.
	maxWait = 500 * time.Millisecond
	// readTimeout is how long a body may take to arrive, and writeTimeout an answer to
	// leave. The API server is near.
	readTimeout, writeTimeout = 3 * time.Second, 5 * time.Second
)

// intake bounds the bytes of requests that are worked on at once, by all handlers that
// share it: what a request costs is in proportion to its size. A body is counted when it
// has arrived, so that those who send slowly keep out nobody. Before that, a large one has
// one of few places.
type intake struct {
	usual, large *semaphore.Weighted
	arrivals     arrivals
}

// newIntake returns an intake for the handlers of a process.
func newIntake() *intake {
	return &intake{
		usual: semaphore.NewWeighted(maxUsual), large: semaphore.NewWeighted(maxLarge), arrivals: arrivals{places: map[string]*arrival{}},
	}
}

// receive reads the body into the buffer. The request is counted until done is called.
func (i *intake) receive(w http.ResponseWriter, req *http.Request, body *bytes.Buffer) (done func(), fault *httpError) {
	size := req.ContentLength
	if size > maxBody {
		return nil, tooLarge
	}
	if size < 0 { // unknown
		size = maxBody
	}
	if size <= usualBody {
		if fault := read(w, req, body); fault != nil {
			return nil, fault
		}
		return enter(req.Context(), i.usual, int64(body.Len()))
	}
	address, _, _ := net.SplitHostPort(req.RemoteAddr)
	control := http.NewResponseController(w)
	place, fault := i.arrivals.begin(req.Context(), address, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	if fault != nil {
		return nil, fault
	}
	defer i.arrivals.end(place)
	fault = read(w, req, body)
	if !i.arrivals.arrived(place) {
		return nil, tooSlow
	}
	if fault != nil {
		return nil, fault
	}
	return enter(req.Context(), i.large, size)
}

// enter waits until there is room.
func enter(ctx context.Context, room *semaphore.Weighted, size int64) (leave func(), fault *httpError) {
	if !room.TryAcquire(size) {
		ctx, cancel := context.WithTimeout(ctx, maxWait)
		defer cancel()
		if room.Acquire(ctx, size) != nil {
			return nil, tooMany
		}
	}
	return func() { room.Release(size) }, nil
}

var (
	tooLarge = &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody)}
	tooMany  = &httpError{http.StatusServiceUnavailable, "too many requests at once, try again"}
	tooSlow  = &httpError{http.StatusServiceUnavailable, "the body arrived too slowly while others waited, try again"}
)

// read reads the body into the buffer.
func read(w http.ResponseWriter, req *http.Request, body *bytes.Buffer) *httpError {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTimeout)) // all servers can, but not all tests
	if req.ContentLength > 0 {
		body.Grow(int(req.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(w, req.Body, maxBody)); err != nil {
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			return tooLarge
		}
		return &httpError{http.StatusBadRequest, "read the body: " + err.Error()}
	}
	_ = control.SetReadDeadline(time.Time{}) // from here on a read ends when the client is gone
	return nil
}

// buffers holds the buffers that bodies are read into. Nothing that is decoded
// shares their memory.
var buffers sync.Pool

func release(body *bytes.Buffer) {
	if body.Cap() <= usualBody {
		body.Reset()
		buffers.Put(body)
	}
}
