package build

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strings"
)

// errConnect is why nothing is fetched.
var errConnect = errors.New("building does not connect")

// refusing is a transport that refuses.
type refusing struct{}

// RoundTrip refuses.
func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, errConnect
}

func refuse(context.Context, string, string) (net.Conn, error) { return nil, errConnect }

// isRemote reports whether building failed because it had to connect or to run git. Some of
// kustomize's errors hold others only as text.
func isRemote(err error) bool {
	return errors.Is(err, errConnect) || errors.Is(err, exec.ErrNotFound) ||
		strings.Contains(err.Error(), errConnect.Error()) || strings.Contains(err.Error(), "no 'git' program on path")
}
