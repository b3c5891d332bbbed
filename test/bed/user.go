package bed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// User returns the configuration of a client that the API server knows by this
// name and these groups, with the rights that RBAC gives to them: none at first.
func (cp *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	base := &rest.Config{QPS: cp.Config.QPS, Burst: cp.Config.Burst}
	user, err := cp.env.AddUser(envtest.User{Name: name, Groups: groups}, base)
	if err != nil {
		return nil, fmt.Errorf("add the user %s: %w", name, err)
	}
	return user.Config(), nil
}

// Kubectl runs the real kubectl as the administrator (--as makes it another user)
// and returns what it prints. The error is an *exec.ExitError where kubectl itself
// failed; what it had to say is in stderr.
func (cp *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(cp.BinDir, "kubectl"), args...)
	// Neither the configuration of the user who runs this, nor kubectl's cache of
	// what an API server at this port once served, may have a say.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cp.Kubeconfig, "HOME="+cp.dir.path, "KUBECACHEDIR="+cp.dir.path, "KUBERC=off")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaint
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), complaint.String(), err
}
