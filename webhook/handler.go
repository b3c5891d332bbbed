package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
)

// handler is the HTTP side of a webhook.
type handler struct {
	// name is the webhook's in metrics and logs.
	name    string
	metrics *Metrics
	log     logr.Logger
	intake  *intake
	// concerns reports whether a review is to be answered; all others are admitted.
	concerns func(r *review) bool
	// answer answers a review; fault is set if its object is not a route.
	answer func(ctx context.Context, r *review, fault *objectError) answer
}

// httpError is an answer that is not an AdmissionReview.
type httpError struct {
	code int
	text string
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	start := time.Now()
	defer func() {
		h.metrics.observe(h.name, time.Since(start))
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p)
			}
			h.metrics.request(h.name, req, nil, failed)
			h.log.Error(fmt.Errorf("panic: %v", p), "Failed to answer the request", "webhook", h.name, "stack", string(debug.Stack()))
			http.Error(w, "internal error", http.StatusInternalServerError)
		}
	}()
	if fault := h.serve(w, req); fault != nil {
		h.metrics.request(h.name, req, nil, malformed)
		http.Error(w, fault.text, fault.code)
	}
}

func (h *handler) serve(w http.ResponseWriter, req *http.Request) *httpError {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &httpError{http.StatusMethodNotAllowed, "method " + req.Method + ": want POST"}
	}
	if !isJSON(req.Header.Get("Content-Type")) {
		return &httpError{http.StatusUnsupportedMediaType, "Content-Type: want application/json"}
	}
	body, ok := buffers.Get().(*bytes.Buffer)
	if !ok {
		body = new(bytes.Buffer)
	}
	defer release(body)
	done, unreceived := h.intake.receive(w, req, body)
	if unreceived != nil {
		return unreceived
	}
	defer done()
	r, err := decodeReview(body.Bytes())
	var fault *objectError
	if err != nil && !errors.As(err, &fault) {
		return &httpError{http.StatusBadRequest, shortened(err.Error())}
	}
	r.query, r.received, r.authenticated = req.URL.RawQuery, time.Now(), Authenticated(req)
	r.address, _, _ = net.SplitHostPort(req.RemoteAddr)
	answered := admit
	if h.concerns(r) {
		answered = h.answer(req.Context(), r, fault)
	}
	h.metrics.request(h.name, req, r, answered.outcome)
	text, err := answered.encode(r.UID)
	if err != nil {
		return &httpError{http.StatusInternalServerError, err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.Write(text); err != nil {
		h.log.V(1).Info("The client closed the connection before the response", "webhook", h.name, "reason", err.Error())
	}
	return nil
}

// Authenticated reports whether the client showed a certificate, which was verified.
func Authenticated(req *http.Request) bool { return req.TLS != nil && len(req.TLS.VerifiedChains) > 0 }

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// deadline returns when the answer must be there: a little before the API server,
// which says in the query how long it waits, gives up.
func (r *review) deadline() time.Time {
	wait := 5 * time.Second
	if query, err := url.ParseQuery(r.query); err == nil {
		if timeout, err := time.ParseDuration(query.Get("timeout")); err == nil && timeout > 0 {
			wait = min(timeout, 30*time.Second)
		}
	}
	return r.received.Add(wait - min(wait/5, 500*time.Millisecond))
}
