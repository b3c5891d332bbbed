// Package bed is the test bed: a real Kubernetes control plane (kube-apiserver,
// etcd and kubectl) built from Go modules, with the Gateway API's
// CustomResourceDefinitions, on loopback.
//
// Build builds the binaries once, into a folder that git ignores. Start starts a
// control plane in four to eight seconds. All tests of a package share one, which
// their TestMain starts:
//
//	var plane *bed.ControlPlane
//
//	func TestMain(m *testing.M) { os.Exit(bed.Run(m, bed.Options{}, &plane)) }
//
// and keep to a namespace each. A package with such a TestMain should hold
// nothing but tests that need an API server: go test -run and -fuzz start it too.
//
// Nothing is left behind: Stop removes everything; where it is not called, as
// when a test binary is killed or runs into its timeout, the servers notice
// within a second that the process that started them is gone, and the next Start
// removes their files.
package bed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// ServiceCIDR is the range that the control plane takes cluster IPs from.
const ServiceCIDR = "10.96.0.0/16"

// startTimeout bounds each step of a start. A start takes seconds, but several
// packages may start theirs at once, on few cores, beside a compiler.
const startTimeout = 90 * time.Second

// Options says what control plane to start. The zero value is a control plane
// with the standard channel of the Gateway API, RBAC and no audit log.
type Options struct {
	// Kubernetes is the release of kube-apiserver, such as v1.30.14; empty is the one
	// that the environment variable TEST_KUBERNETES names, or else the one that
	// test/controlplane requires, of which etcd and kubectl always are.
	Kubernetes string
	// Bare installs no definitions at all.
	Bare bool
	// Experimental installs the experimental channel of the Gateway API instead
	// of the standard one.
	Experimental bool
	// MultiCluster installs ServiceImport and ServiceExport too.
	MultiCluster bool
	// AllVersions serves all versions of the definitions, as in clusters that had
	// the experimental channel before.
	AllVersions bool
	// AuditPolicy turns the audit log on: an audit.k8s.io/v1 Policy in YAML. The
	// log is the file ControlPlane.AuditLog, one JSON event a line, complete at
	// each moment a request is answered.
	AuditPolicy string
	// ServingIPs are addresses that the API server's certificate is for, in addition
	// to those of loopback. Pods need some.
	ServingIPs []net.IP
	// APIServerFlags sets flags of kube-apiserver, by name without dashes, in
	// place of the test bed's own. A flag without values is left away.
	APIServerFlags map[string][]string
	// ServerOutput receives what the servers print; nil drops it.
	ServerOutput io.Writer
}

// ControlPlane is a running control plane on loopback.
type ControlPlane struct {
	// Config is an administrator's (group system:masters).
	Config *rest.Config
	// Kubeconfig is the path of the same in a file that only its owner can read.
	Kubeconfig string
	// BinDir is the folder of the binaries, kubectl among them.
	BinDir string
	// CertDir is the folder of the API server's certificates and of the
	// ServiceAccount keys (sa-signer.key, sa-signer.crt).
	CertDir string
	// EtcdURL is where etcd serves its clients, for tests that restore many objects
	// at once.
	EtcdURL string
	// AuditLog is the path of the audit log, empty where there is none.
	AuditLog string

	dir string
	env *envtest.Environment
}

// Start starts a control plane, after building what is missing. The caller must
// Stop it. The context bounds the start, not the control plane's life.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	binDir, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	server := filepath.Join(binDir, apiServer)
	release := cmp.Or(o.Kubernetes, os.Getenv("TEST_KUBERNETES"))
	if release != "" {
		if server, err = buildAPIServer(ctx, release); err != nil {
			return nil, err
		}
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	if !o.Bare {
		if definitions, err = CustomResourceDefinitions(ctx, o); err != nil {
			return nil, err
		}
		if release != "" {
			for _, definition := range definitions {
				for i := range definition.Spec.Versions {
					withoutNewRules(definition.Spec.Versions[i].Schema.OpenAPIV3Schema)
				}
			}
		}
	}
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{
		BinDir:     binDir,
		CertDir:    filepath.Join(dir, "apiserver"),
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		dir:        dir,
		env:        &envtest.Environment{},
	}
	if err := errors.Join(cp.start(ctx, o, server, definitions), ctx.Err()); err != nil {
		return nil, errors.Join(fmt.Errorf("start the control plane: %w", err), cp.Stop())
	}
	return cp, nil
}

// withoutNewRules removes the rules of a schema that call isIP or format, which API servers have
// from 1.31 and 1.32 on: an older one does not take the definition.
func withoutNewRules(schema *apiextensionsv1.JSONSchemaProps) {
	schema.XValidations = slices.DeleteFunc(schema.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
		return strings.Contains(rule.Rule, "isIP(") || strings.Contains(rule.Rule, "format.")
	})
	for name, property := range schema.Properties {
		withoutNewRules(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		withoutNewRules(schema.Items.Schema)
	}
}

func (cp *ControlPlane) start(ctx context.Context, o Options, server string, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	etcdDir := filepath.Join(cp.dir, "etcd")
	if err := errors.Join(os.Mkdir(etcdDir, 0o700), os.Mkdir(cp.CertDir, 0o700)); err != nil {
		return err
	}
	// Everything that envtest would read from the environment is set, so that the
	// tests never run against a cluster or binaries that happen to be named there.
	*cp.env = envtest.Environment{
		UseExistingCluster:       new(false),
		CRDInstallOptions:        envtest.CRDInstallOptions{CRDs: definitions, MaxTime: startTimeout},
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	plane := &cp.env.ControlPlane
	plane.KubectlPath = filepath.Join(cp.BinDir, "kubectl")
	plane.Etcd = &envtest.Etcd{Path: filepath.Join(cp.BinDir, "etcd"), DataDir: etcdDir, Out: o.ServerOutput, Err: o.ServerOutput}
	plane.APIServer = &envtest.APIServer{Path: server, CertDir: cp.CertDir, Out: o.ServerOutput, Err: o.ServerOutput}
	if err := errors.Join(cp.choosePorts(ctx), cp.configure(o)); err != nil {
		return err
	}
	if len(o.ServingIPs) > 0 {
		if err := cp.certify(o.ServingIPs); err != nil {
			return err
		}
	}
	config, err := cp.env.Start()
	if err != nil {
		return err
	}
	cp.Config, cp.EtcdURL = config, plane.Etcd.URL.String()
	return os.WriteFile(cp.Kubeconfig, cp.env.KubeConfig, 0o600)
}

// configure sets the flags of kube-apiserver.
func (cp *ControlPlane) configure(o Options) error {
	flags := cp.env.ControlPlane.APIServer.Configure()
	flags.Set("service-cluster-ip-range", ServiceCIDR)
	if o.AuditPolicy != "" {
		policy := filepath.Join(cp.dir, "audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(o.AuditPolicy), 0o600); err != nil {
			return err
		}
		cp.AuditLog = filepath.Join(cp.dir, "audit.log")
		flags.Set("audit-policy-file", policy)
		flags.Set("audit-log-path", cp.AuditLog)
		flags.Set("audit-log-mode", "blocking-strict")
	}
	for name, values := range o.APIServerFlags {
		if len(values) == 0 {
			flags.Disable(name)
			continue
		}
		flags.Set(name, values...)
	}
	return nil
}

// RestartAPIServer starts kube-apiserver again, at the same address, after it has
// stopped it if it is running.
func (cp *ControlPlane) RestartAPIServer() error {
	server := cp.env.ControlPlane.APIServer
	if err := errors.Join(server.Stop(), server.Start()); err != nil {
		return fmt.Errorf("restart the API server: %w", err)
	}
	return nil
}

// Stop stops the servers, where they run, and removes their files.
func (cp *ControlPlane) Stop() error {
	if err := errors.Join(cp.env.Stop(), os.RemoveAll(cp.dir)); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	return nil
}

// Run is the body of a TestMain: it starts a control plane, sets *plane, runs the
// package's tests (m is the *testing.M), stops the control plane, and returns the
// exit code.
func Run(m interface{ Run() int }, o Options, plane **ControlPlane) int {
	cp, err := Start(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	*plane = cp
	code := m.Run()
	if err := cp.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return code
}

// dirPrefix begins the name of a control plane's folder under the system's folder
// for temporary files. The ID of its process follows.
const dirPrefix = "gammaguard-bed-of-"

// newDir makes a folder of this process, and removes those whose processes have
// ended without doing so.
func newDir() (string, error) {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, path := range all {
		var pid int
		if n, _ := fmt.Sscanf(filepath.Base(path), dirPrefix+"%d-", &pid); n == 1 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path) // the next start tries again
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
}

// certify makes the API server's certificate for further addresses; its key signs
// ServiceAccount tokens too. envtest makes both itself, for loopback only, if
// they are not there.
func (cp *ControlPlane) certify(ips []net.IP) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", append(ips, net.IPv4(127, 0, 0, 1)), nil)
	for _, name := range []string{"apiserver", "sa-signer"} {
		path := filepath.Join(cp.CertDir, name)
		err = errors.Join(err, os.WriteFile(path+".crt", certificate, 0o600), os.WriteFile(path+".key", key, 0o600))
	}
	cp.env.ControlPlane.APIServer.CA = certificate
	return err
}
