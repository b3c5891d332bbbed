package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	admissionv1 "k8s.io/api/admission/v1"
)

// serveFloor serves the least that a webhook in Go does, on a port of loopback
// that it prints: it decodes the review into the published types, and admits.
func serveFloor(ctx context.Context, certDir string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("https://" + listener.Addr().String())
	return http.ServeTLS(listener, http.HandlerFunc(admit), filepath.Join(certDir, "tls.crt"), filepath.Join(certDir, "tls.key")) //nolint:gosec // as the simplest webhook would
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

// floor is a running floor, a process of its own.
type floor struct {
	url string
	cmd *exec.Cmd
}

// startFloor starts this program once more, as the floor.
func startFloor(ctx context.Context, certDir string) (*floor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-floor", certDir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the floor: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return &floor{strings.TrimSpace(url), cmd}, nil
}

func (f *floor) stop() {
	f.cmd.Process.Kill() //nolint:errcheck // it has ended otherwise
	f.cmd.Wait()         //nolint:errcheck // killed
}
