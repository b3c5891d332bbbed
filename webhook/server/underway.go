package server

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gammaguard/gammaguard/webhook"
)

// track notes on each connection which requests it has under way. By HTTP/2 there can be
// several.
func (c *connections) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		conn, ok := req.Context().Value(connectionKey{}).(*connection)
		if !ok {
			next.ServeHTTP(w, req)
			return
		}
		u := &underway{ResponseWriter: w, body: req.Body, conn: conn, known: webhook.Authenticated(req)}
		defer u.end()
		if req.ContentLength == 0 {
			u.begin()
		}
		received := req.WithContext(req.Context()) // a copy: net/http goes on by the type of the body
		received.Body = u
		next.ServeHTTP(u, received)
	})
}

// underway is a request, from its header to its answer: its body and its answer at once.
type underway struct {
	http.ResponseWriter
	body         io.ReadCloser
	conn         *connection
	known        bool
	begun, ended bool
}

// Read reads the body. With its end the request is under way.
func (u *underway) Read(into []byte) (int, error) {
	n, err := u.body.Read(into)
	if errors.Is(err, io.EOF) {
		u.begin()
	}
	return n, err
}

// Close closes the body.
func (u *underway) Close() error { return u.body.Close() }

// Write writes the answer, for which a client may let the server wait.
func (u *underway) Write(text []byte) (int, error) {
	u.end()
	return u.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (u *underway) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *underway) begin() {
	if u.begun || u.ended {
		return
	}
	u.begun = true
	u.conn.all.mu.Lock()
	defer u.conn.all.mu.Unlock()
	u.conn.working++
	u.conn.known = u.conn.known || u.known
}

func (u *underway) end() {
	if u.ended {
		return
	}
	u.ended = true
	if !u.begun {
		return
	}
	u.conn.all.mu.Lock()
	defer u.conn.all.mu.Unlock()
	if u.conn.working--; u.conn.working == 0 {
		u.conn.since = time.Now()
		u.conn.arriving.Store(false)
		u.conn.all.freed.Signal()
	}
}
