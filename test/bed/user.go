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

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
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

// ServiceAccountKubeconfig has another process be a ServiceAccount, which must be
// there, in the way that it would be in a Pod: by a token in a file, and not by a
// certificate, which the API server verifies at each request. It returns the path of a
// kubeconfig that only its owner can read, and that goes when the control plane stops.
func (cp *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	c, err := cp.Client()
	if err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 60 * 60))}}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("ask for a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	dir, err := cp.TempDir("account")
	if err != nil {
		return "", err
	}
	tokenFile := filepath.Join(dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token.Status.Token), 0o600); err != nil {
		return "", err
	}
	const only = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[only] = &clientcmdapi.Cluster{Server: cp.Config.Host, CertificateAuthorityData: cp.Config.CAData}
	config.AuthInfos[only] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	config.Contexts[only] = &clientcmdapi.Context{Cluster: only, AuthInfo: only}
	config.CurrentContext = only
	path := filepath.Join(dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
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
