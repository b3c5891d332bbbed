package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/certs/selfmanaged"
	"github.com/gammaguard/gammaguard/test/background"
)

const host = "gammaguard-webhook.gammaguard-system.svc"

var secretKey = types.NamespacedName{Namespace: system, Name: "gammaguard-webhook-cert"}

// replica is what keeps and serves certificates of a replica, with the rights that
// the overlay gives.
type replica struct {
	source  *selfmanaged.Source
	dir     string
	address string
	stop    func()
	leads   <-chan struct{}
}

// startReplica starts a replica that may become the leader.
func startReplica(t *testing.T) *replica {
	t.Helper()
	config, err := plane.User(account, "system:serviceaccounts", "system:serviceaccounts:"+system)
	if err != nil {
		t.Fatal(err)
	}
	lease, renew, retry := 3*time.Second, 2*time.Second, 200*time.Millisecond
	mgr, err := manager.New(config, manager.Options{
		Logger: testr.New(t), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "gammaguard-webhook", LeaderElectionNamespace: system,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry, LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{dir: filepath.Join(t.TempDir(), "certs"), leads: mgr.Elected()}
	r.source = selfmanaged.New(selfmanaged.Options{Dir: r.dir, Secret: secretKey, Host: host, Webhooks: "gammaguard"})
	if err := r.source.SetUp(mgr); err != nil {
		t.Fatal(err)
	}
	r.stop = background.Start(t, mgr.Start)
	return r
}

// serve has the replica serve TLS with what its folder holds, as the webhook
// server does.
func (r *replica) serve(t *testing.T) {
	t.Helper()
	background.Eventually(t, func() string {
		if err := certs.Check(r.dir, time.Now()); err != nil {
			return fmt.Sprintf("%v; %s", err, r.source.Waiting())
		}
		return ""
	})
	watcher, err := certwatcher.New(filepath.Join(r.dir, certs.CertFile), filepath.Join(r.dir, certs.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	r.address = listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		if err := watcher.Start(ctx); err != nil {
			t.Errorf("watch %s: %v", r.dir, err)
		}
	})
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				if conn, ok := conn.(*tls.Conn); ok {
					_ = conn.HandshakeContext(ctx) // the caller reports what fails
				}
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() { cancel(); _ = listener.Close(); running.Wait() })
}

// caller calls replicas as API servers do: by the CA bundles of the registrations,
// as they are or as they were half a second ago. It notes what fails.
type caller struct {
	calls int
	wrong map[string]bool
	stop  func()
}

func startCaller(t *testing.T, c client.Client, replicas ...*replica) *caller {
	t.Helper()
	calls := &caller{wrong: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		var late []map[string][]byte
		for ctx.Err() == nil {
			bundles, err := caBundles(ctx, c)
			if err != nil {
				calls.note(ctx, "read the registrations", err)
				continue
			}
			late = append(late, bundles)
			late = late[max(0, len(late)-20):]
			for name := range bundles {
				for _, r := range replicas {
					calls.note(ctx, name, call(ctx, r.address, bundles[name]))
					calls.note(ctx, name+", as it was", call(ctx, r.address, late[0][name]))
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(25 * time.Millisecond):
			}
		}
	})
	calls.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(calls.stop)
	return calls
}

func (c *caller) note(ctx context.Context, what string, err error) {
	c.calls++
	if err != nil && ctx.Err() == nil {
		c.wrong[what+": "+err.Error()] = true
	}
}

func call(ctx context.Context, address string, caBundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(caBundle)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: host}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// caBundles returns what each webhook trusts.
func caBundles(ctx context.Context, c client.Client) (map[string][]byte, error) {
	var validating admissionv1.ValidatingWebhookConfiguration
	var mutating admissionv1.MutatingWebhookConfiguration
	key := client.ObjectKey{Name: "gammaguard"}
	if err := errors.Join(c.Get(ctx, key, &validating), c.Get(ctx, key, &mutating)); err != nil {
		return nil, err
	}
	return map[string][]byte{
		"validating": validating.Webhooks[0].ClientConfig.CABundle, "mutating": mutating.Webhooks[0].ClientConfig.CABundle,
	}, nil
}

// renew runs the command of docs/certificates.md that has the leader make the file anew. For
// the CA, it is the runbook's too.
func renew(t *testing.T, file string) {
	t.Helper()
	o := &operator{root: folder(t, "..")}
	commands := commandsOf(t, o.root, "certificates.md", "## Self-managed")
	i := slices.IndexFunc(commands, func(command string) bool { return strings.Contains(command, "/data/"+file) })
	if i < 0 {
		t.Fatalf("docs/certificates.md has no command for %s: %q", file, commands)
	}
	if runbook := commandsOf(t, o.root, "emergency.md", "### Self-managed"); file == certs.CAFile && !slices.Equal(runbook, commands[i:i+1]) {
		t.Errorf("docs/emergency.md has %q, docs/certificates.md %q", runbook, commands[i])
	}
	o.must(t, commands[i])
}

// files returns what all replicas have in a file of their folders, or nothing
// while they differ.
func files(t *testing.T, name string, replicas ...*replica) string {
	t.Helper()
	found := map[string]bool{}
	for _, r := range replicas {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		found[string(data)] = true
	}
	if len(found) > 1 {
		return ""
	}
	return slices.Collect(maps.Keys(found))[0]
}

// awaitOther waits until all replicas have something else in the file.
func awaitOther(t *testing.T, name, before string, replicas ...*replica) {
	t.Helper()
	background.Eventually(t, func() string {
		if now := files(t, name, replicas...); now == "" || now == before {
			return "the replicas do not all have another " + name
		}
		return ""
	})
}

// TestSelfManaged keeps certificates with two replicas, through renewals and a
// change of leader, and no call fails.
func TestSelfManaged(t *testing.T) {
	c := admin(t)
	install(t, folder(t, "overlays/self-managed"))
	a := startReplica(t)
	<-a.leads
	b := startReplica(t)
	a.serve(t)
	b.serve(t)
	calls := startCaller(t, c, a, b)

	ca, leaf := files(t, certs.CAFile, a, b), files(t, certs.CertFile, a, b)
	renew(t, certs.CertFile)
	awaitOther(t, certs.CertFile, leaf, a, b)
	if now := files(t, certs.CAFile, a, b); now != ca {
		t.Error("a new serving certificate came with a new CA")
	}
	renew(t, certs.CAFile)
	awaitOther(t, certs.CAFile, ca, a, b)

	ca = files(t, certs.CAFile, a, b)
	a.stop()
	<-b.leads
	renew(t, certs.CAFile)
	awaitOther(t, certs.CAFile, ca, b)
	background.Eventually(t, func() string { // the certwatcher has seen the files
		if err := call(t.Context(), b.address, []byte(files(t, certs.CAFile, b))); err != nil {
			return err.Error()
		}
		return ""
	})
	calls.stop()
	for wrong := range calls.wrong {
		t.Error(wrong)
	}
	if calls.calls < 100 {
		t.Errorf("only %d calls", calls.calls)
	}
	wantNothingForbidden(t)
}
