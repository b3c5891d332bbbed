package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// A fault is what may fail around gammaguard, or of it.
type fault struct {
	fault string
	// mesh and gateway say what becomes of mesh routes and of routes on Gateways, and
	// after says when all is right again.
	mesh, gateway, after string
	tests                []string
}

var faults = []fault{
	{
		"All replicas are killed", "refused", "pass", "as soon as a replica is ready",
		[]string{"test/attack.TestKilled", "test/apiserver.TestDown"},
	},
	{
		"An installation fails, or stops half way", "admitted until the API server has reached a replica once", "pass", "when the installation is complete",
		[]string{"test/install.TestUnfinishedInstall", "test/install.TestWithoutCertManager", "test/install.TestServes"},
	},
	{
		"All replicas are suspended (SIGSTOP)", "refused, after the timeouts of the webhooks", "pass", "with the next request after they go on",
		[]string{"test/attack.TestSuspended", "test/install.TestRunbook"},
	},
	{
		"The replica that writes status is suspended or killed", "judged by the other replicas", "pass", "another one writes status after the Lease has expired",
		[]string{"test/status.TestLeaderSuspended", "test/status.TestLeaderKilled"},
	},
	{
		"etcd hangs", "fail, as all writes do; those without a grant are not stored later either", "fail, as all writes do", "with the next request after it goes on",
		[]string{"test/attack.TestEtcdHangs"},
	},
	{
		"The API server restarts", "judged as before", "pass", "grants that change afterwards count as soon as the watches are open again",
		[]string{"test/attack.TestAPIServerRestarts"},
	},
	{
		"A replica's watches are cut", "judged by live reads beyond `--max-staleness`; the replica is not ready", "pass", "when the watches are open again",
		[]string{"test/apiserver.TestCutOff", "webhook.TestStale"},
	},
	{
		"The files of the certificate disappear", "judged, as long as the certificate is valid that was read before", "pass", "when the files are back",
		[]string{"test/attack.TestCertificateDisappears"},
	},
	{
		"A replica's clock is an hour slow or the certificate has expired", "the replica is not ready and names the reason", "pass", "when the certificate is valid",
		[]string{"certs.TestCheck", "test/install.TestReadinessNamesTheReason"},
	},
	{
		"A replica shuts down, or rolls", "judged", "pass", "no request is lost",
		[]string{"test/apiserver.TestShutdownLosesNoRequest"},
	},
}

func faultTests() (all []string) {
	for _, f := range faults {
		if strings.HasPrefix(f.tests[0], "test/attack.") {
			all = append(all, f.tests[0])
		}
	}
	return all
}

func faultTable() string {
	var b strings.Builder
	b.WriteString("| Fault | Mesh routes | Routes on Gateways | Right again | Tests |\n|---|---|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.fault, f.mesh, f.gateway, f.after, quoted(f.tests))
	}
	return b.String()
}

// A patient is a site with a granted namespace and one without a grant, to which faults
// are done.
type patient struct {
	*site
	t               *testing.T
	user            dynamic.Interface
	granted, denied string
}

func newPatient(t *testing.T) *patient {
	s := start(t)
	name := "fault-" + strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	p := &patient{site: s, t: t, user: s.tenant(t), granted: name + "-granted", denied: name + "-denied"}
	s.namespace(t, p.granted, "all")
	s.namespace(t, p.denied, "none")
	p.wantHealthy(time.Now())
	return p
}

// create creates a route of a fresh name. It does not wait longer than the webhooks'
// timeouts together.
func (p *patient) create(namespace string, parent parent) error {
	return p.createWithin(10*time.Second, namespace, parent)
}

func (p *patient) createWithin(timeout time.Duration, namespace string, parent parent) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), timeout)
	defer cancel()
	route := http.route(namespace, "", parent)
	route.SetGenerateName("fault-")
	_, err := p.user.Resource(httpRoutes).Namespace(namespace).Create(ctx, route, metav1.CreateOptions{})
	return err
}

// wantHealthy waits until a granted route is admitted, and one without a grant refused
// for that reason. It logs how long that took.
func (p *patient) wantHealthy(since time.Time) {
	p.t.Helper()
	background.Eventually(p.t, func() string {
		if err := p.create(p.granted, onCart()); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := p.create(p.denied, onCart()); !apierrors.IsForbidden(err) {
		p.t.Errorf("without a grant: got %v, want 403", err)
	}
	p.t.Logf("right again after %s", time.Since(since).Round(time.Millisecond))
	p.wantNoMeshRoute(p.t, p.denied)
}

// createBoth creates a mesh route in each namespace, at once, and returns the errors.
func (p *patient) createBoth(timeout time.Duration) map[string]error {
	var granted, denied error
	var both sync.WaitGroup
	both.Go(func() { granted = p.createWithin(timeout, p.granted, onCart()) })
	both.Go(func() { denied = p.createWithin(timeout, p.denied, onCart()) })
	both.Wait()
	return map[string]error{p.granted: granted, p.denied: denied}
}

// wantRefused fails where a mesh route is admitted or a route on a Gateway is not.
func (p *patient) wantRefused() {
	p.t.Helper()
	for _, err := range p.createBoth(10 * time.Second) {
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "validate.gammaguard.dev") {
			p.t.Errorf("mesh route: got %v, want that the webhook failed", err)
		}
	}
	if err := p.create(p.denied, gatewayParent()); err != nil {
		p.t.Errorf("route on a Gateway: %v", err)
	}
}

// startAnother starts a guard in the place of one that was killed.
func (p *patient) startAnother(o guard.Options) {
	p.t.Helper()
	another, err := guard.Start(p.t.Context(), p.plane, o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.guard = another
}

// TestKilled kills the guard. Another one takes over.
func TestKilled(t *testing.T) {
	p := newPatient(t)
	if err := p.guard.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wantRefused()
	since := time.Now()
	p.startAnother(guard.Options{})
	p.wantHealthy(since)
}

// suspend stops a process until the test ends or resume is called.
func suspend(t *testing.T, pid int) (resume func()) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume = func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(resume)
	return resume
}

// TestSuspended stops the guard as a whole.
func TestSuspended(t *testing.T) {
	p := newPatient(t)
	resume := suspend(t, p.guard.PID())
	p.wantRefused()
	resume()
	p.wantHealthy(time.Now())
}

// TestEtcdHangs stops etcd while routes are sent.
func TestEtcdHangs(t *testing.T) {
	p := newPatient(t)
	before := p.stored()
	resume := suspend(t, child(t, "etcd"))
	for namespace, err := range p.createBoth(3 * time.Second) {
		if err == nil {
			t.Errorf("%s: a route is stored while etcd hangs", namespace)
		}
	}
	if err := p.guard.Ready(t.Context()); err != nil {
		t.Errorf("a guard whose caches are fresh is not ready: %v", err)
	}
	resume()
	p.wantHealthy(time.Now())
	if after := p.stored(); after != before {
		t.Errorf("%d routes without a grant, %d before", after, before)
	}
}

// stored returns how many routes there are in the namespace without a grant.
func (p *patient) stored() int {
	p.t.Helper()
	return p.wantNoMeshRoute(p.t, p.denied)
}

// child returns the process of this name that this one has started.
func child(t *testing.T, name string) int {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		stat, err := process.Stat()
		if err == nil && stat.PPID == os.Getpid() && stat.Comm == name {
			return process.PID
		}
	}
	t.Fatalf("no process %s", name)
	return 0
}

// TestAPIServerRestarts kills the API server and starts it again, and withdraws a grant afterwards.
func TestAPIServerRestarts(t *testing.T) {
	p := newPatient(t)
	if err := syscall.Kill(child(t, "kube-apiserver"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.plane.RestartAPIServer(); err != nil {
		t.Fatal(err)
	}
	p.wantHealthy(time.Now())
	since := time.Now()
	p.grant(t, p.granted, "none")
	awaitRefusal(t, p.user, p.granted, onCart(), "grant-missing")
	t.Logf("a grant is withdrawn after %s", time.Since(since).Round(time.Millisecond))
}

// TestCertificateDisappears removes the files of the serving certificate: the guard goes
// on to serve the one that it has, which is still valid.
func TestCertificateDisappears(t *testing.T) {
	p := newPatient(t)
	for _, name := range []string{certs.CertFile, certs.KeyFile} {
		file := filepath.Join(p.guard.CertDir, name)
		data, err := os.ReadFile(file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	p.wantHealthy(time.Now())
	if err := p.guard.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
