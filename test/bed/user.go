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

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Client returns an administrator's client without a rate limit, for the types of
// client-go and those that are added.
func (cp *ControlPlane) Client(add ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range append(add, clientgoscheme.AddToScheme) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config := rest.CopyConfig(cp.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

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

// ServiceAccountKubeconfig returns a kubeconfig for another process to be a
// ServiceAccount.
func (cp *ControlPlane) ServiceAccountKubeconfig(namespace, name string) ([]byte, error) {
	account := envtest.User{Name: serviceaccount.MakeUsername(namespace, name), Groups: serviceaccount.MakeGroupNames(namespace)}
	user, err := cp.env.AddUser(account, &rest.Config{})
	if err != nil {
		return nil, fmt.Errorf("add the user %s: %w", account.Name, err)
	}
	return user.KubeConfig()
}

// TempDir makes a folder that only its owner can read, and that goes when the
// control plane stops.
func (cp *ControlPlane) TempDir(prefix string) (string, error) {
	return os.MkdirTemp(cp.dir, prefix+"-")
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
		"KUBECONFIG="+cp.Kubeconfig, "HOME="+cp.dir, "KUBECACHEDIR="+cp.dir, "KUBERC=off")
}
