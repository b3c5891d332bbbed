package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"

	admissionv1 "k8s.io/api/admission/v1"
)

// floorArgument makes this program serve the floor.
const floorArgument = "-floor"

// serveFloor serves the least that a webhook in Go does, at a URL that it prints:
// it decodes the review into the published types, and admits.
func serveFloor(ctx context.Context) error {
	server := httptest.NewTLSServer(http.HandlerFunc(admit))
	defer server.Close()
	fmt.Println(server.URL)
	<-ctx.Done()
	return nil
}

func admit(w http.ResponseWriter, req *http.Request) {
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

// startFloor starts this program once more, as the floor, until the context ends.
func startFloor(ctx context.Context) (url string, pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	cmd := exec.CommandContext(ctx, program, floorArgument)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", 0, errors.Join(fmt.Errorf("start the floor: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return strings.TrimSpace(url), cmd.Process.Pid, nil
}
