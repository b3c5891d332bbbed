package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// manyReads are reads of so many Services, and of one of them once more.
func manyReads(n int) []mesh.Read {
	reads := make([]mesh.Read, n, n+1)
	for i := range reads {
		reads[i] = mesh.Read{Kind: mesh.ReadService, Service: mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: fmt.Sprint("s", i)}}
	}
	return append(reads, reads[0])
}

// TestConfirmedIsBounded: a decision makes so many live reads, those that fail included,
// and has few of them under way at once.
func TestConfirmedIsBounded(t *testing.T) {
	var under, most, all atomic.Int32
	reader := answering(t, nil, map[string]http.HandlerFunc{
		"/api/v1/namespaces/shop/services/": func(w http.ResponseWriter, req *http.Request) {
			all.Add(1)
			now := under.Add(1)
			defer under.Add(-1)
			for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			if strings.HasSuffix(req.URL.Path, "s0") {
				failure(500, "InternalError")(w, req)
				return
			}
			failure(404, "NotFound")(w, req)
		},
	})
	c := Confirm(t.Context(), inAMinute, reader, newCache(t, Options{}))
	if _, err := c.Read(manyReads(mesh.MaxReads + 1)); err == nil || all.Load() > 0 {
		t.Errorf("more than the bound: %v after %d reads", err, all.Load())
	}
	if fresh, err := c.Read(manyReads(mesh.MaxReads)); fresh != mesh.MaxReads || err == nil {
		t.Errorf("%d reads, %v", fresh, err)
	}
	if _, err := c.Read(manyReads(1)); err == nil || !strings.Contains(err.Error(), "more than 64 live reads") {
		t.Errorf("a read that failed, once more: %v", err)
	}
	if got := all.Load(); got != mesh.MaxReads {
		t.Errorf("%d reads reached the API server, want %d", got, mesh.MaxReads)
	}
	if got := most.Load(); got > maxConcurrentReads {
		t.Errorf("%d reads at once, want at most %d", got, maxConcurrentReads)
	}
}

// TestConfirmedFailsOnOneLine: a denial quotes what failed, and kubectl would print a line break as \n.
func TestConfirmedFailsOnOneLine(t *testing.T) {
	reader := answering(t, nil, map[string]http.HandlerFunc{"/api/v1/namespaces/shop/services/": failure(403, "Forbidden")})
	_, err := Confirm(t.Context(), inAMinute, reader, newCache(t, Options{})).Read(manyReads(3))
	if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "; read Service shop/s") != 2 {
		t.Errorf("got %q", err)
	}
}

// TestCanceledReadsFreeTheirSlots: once nobody waits for an answer, its reads end, those
// that wait for their turn included, and others get their places.
func TestCanceledReadsFreeTheirSlots(t *testing.T) {
	var under atomic.Int32
	reader := answering(t, nil, map[string]http.HandlerFunc{
		"/api/v1/namespaces/shop/services/": func(_ http.ResponseWriter, req *http.Request) {
			under.Add(1)
			<-req.Context().Done()
		},
		"/api/v1/namespaces/shop": text(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop"}}`),
	})
	ctx, cancel := context.WithCancel(t.Context())
	const callers = MaxConcurrentReads/maxConcurrentReads + 1
	ended := make(chan error, callers)
	for range callers {
		c := Confirm(ctx, inAMinute, reader, newCache(t, Options{}))
		go func() {
			_, err := c.Read(manyReads(mesh.MaxReads))
			ended <- err
		}()
	}
	eventually(t, "all places are taken", func() bool { return under.Load() == MaxConcurrentReads })
	cancel()
	for range callers {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	}
	if _, err := reader.Namespace(t.Context(), "shop"); err != nil || len(reader.slots) > 0 {
		t.Errorf("afterwards: %v, with %d places taken", err, len(reader.slots))
	}
}

func inAMinute() time.Time { return time.Now().Add(time.Minute) }
