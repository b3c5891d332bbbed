package bed

import (
	"bytes"
	"context"
	"errors"
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
	user, err := cp.addUser(name, groups)
	if err != nil {
		return nil, err
	}
	return user.Config(), nil
}

// UserKubeconfig is User for another process: it returns the path of a kubeconfig
// that only its owner can read, and that goes when the control plane stops.
func (cp *ControlPlane) UserKubeconfig(name string, groups ...string) (string, error) {
	user, err := cp.addUser(name, groups)
	if err != nil {
		return "", err
	}
	content, err := user.KubeConfig()
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	file, err := os.CreateTemp(cp.dir.path, "kubeconfig-")
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return file.Name(), nil
}

// TempDir makes a folder that only its owner can read, and that goes when the
// control plane stops.
func (cp *ControlPlane) TempDir(prefix string) (string, error) {
	return os.MkdirTemp(cp.dir.path, prefix+"-")
}

func (cp *ControlPlane) addUser(name string, groups []string) (*envtest.AuthenticatedUser, error) {
	base := &rest.Config{QPS: cp.Config.QPS, Burst: cp.Config.Burst}
	user, err := cp.env.AddUser(envtest.User{Name: name, Groups: groups}, base)
	if err != nil {
		return nil, fmt.Errorf("add the user %s: %w", name, err)
	}
	return user, nil
}

// Kubectl runs the real kubectl as the administrator (--as makes it another user)
// and returns what it prints. The error is an *exec.ExitError where kubectl itself
// failed; what it had to say is in stderr.
func (cp *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(cp.BinDir, "kubectl"), args...)
	cmd.Env = cp.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaint
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), complaint.String(), err
}

// Environ returns the environment for a command that is to find this control
// plane's kubectl and API server. Neither the configuration of the user who runs
// it, nor kubectl's cache of what an API server at the same port once served, has
// a say in it.
func (cp *ControlPlane) Environ() []string {
	return append(os.Environ(),
		"PATH="+cp.BinDir+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+cp.Kubeconfig, "HOME="+cp.dir.path, "KUBECACHEDIR="+cp.dir.path, "KUBERC=off")
}
