// Package floor is what gammaguard's webhooks are measured against.
package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
)

// Admit is the least that a webhook in Go does: it decodes the review into the
// published types, and allows it.
func Admit(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(review) //nolint:errcheck,errchkjson // as the simplest webhook would
}

// Confirming is Admit, and makes first what a denial is confirmed by: a GET of each path of the
// API server that the request's query has as "read", side by side. The client is one of the API
// server at that URL.
func Confirming(client *http.Client, server string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		group, ctx := errgroup.WithContext(req.Context())
		for _, path := range req.URL.Query()["read"] {
			group.Go(func() error { return read(ctx, client, server+path) })
		}
		if err := group.Wait(); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		Admit(w, req)
	}
}

// read reads an object, which need not be there.
func read(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotFound {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
