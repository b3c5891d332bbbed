// Command demo starts a real API server with gammaguard in front of it, all on
// loopback, and plays a tour of kubectl and gammaguard commands with their real output. It stays
// up until Ctrl-C; with ONCE set it ends after the tour. Its exit code is 0 only
// if every command ended as the tour announces.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

func main() {
	log.SetLogger(logr.Discard()) // or controller-runtime prints a stack trace after 30 seconds
	bed.Main(demo)
}

// demo starts everything, plays the tour, and stops what it started.
func demo(ctx context.Context, _ []string) (err error) {
	stops, err := readTour(tourFiles)
	if err != nil {
		return err
	}
	started := time.Now()
	if _, err := bed.Build(ctx); err != nil {
		return err
	}
	say(started, "starting kube-apiserver and etcd")
	plane, err := bed.Start(ctx, bed.Options{MultiCluster: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()

	say(started, "applying test/demo/tour/cluster.yaml, and config/rbac and config/policy")
	if _, stderr, err := plane.Kubectl(ctx, clusterManifest, "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	if err := guard.Install(ctx, plane); err != nil {
		return err
	}
	say(started, "building and starting gammaguard-webhook, and registering config/webhook")
	g, err := guard.Start(ctx, plane, guard.Options{Args: []string{"--shutdown-delay", "0s"}}) // nobody waits for its last requests
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	say(started, "building gammaguard")
	program, err := bed.BuildCommand(ctx, "gammaguard")
	if err != nil {
		return err
	}
	say(started, "ready")
	return visit(ctx, plane, g, filepath.Dir(program), stops, os.Getenv("ONCE") != "")
}

// say tells what the demo is at.
func say(started time.Time, what string) {
	fmt.Printf("[%4.1fs] %s\n", time.Since(started).Seconds(), what)
}

// visit plays the tour with the programs in bin, says how to go on alone, and waits for
// Ctrl-C.
func visit(ctx context.Context, plane *bed.ControlPlane, g *guard.Guard, bin string, stops []stop, once bool) error {
	dir, err := plane.TempDir("tour")
	if err != nil {
		return err
	}
	path := strings.Join([]string{plane.BinDir, bin, os.Getenv("PATH")}, string(filepath.ListSeparator))
	p := &player{out: os.Stdout, dir: dir, environ: append(plane.Environ(), "PATH="+path)}
	surprises, err := p.play(ctx, stops)
	if err != nil {
		return err
	}
	fmt.Println("\n==== end of the tour ====")
	if surprises == 0 {
		fmt.Println("Every command ended as announced.")
	}
	if !once {
		fmt.Printf(invitation, plane.Kubeconfig, plane.BinDir, bin, dir, g.LogPath(), g.MetricsURL)
		<-ctx.Done()
		fmt.Println("\nstopping")
	}
	if surprises > 0 {
		return fmt.Errorf("%d commands did not end as announced", surprises)
	}
	return nil
}

const invitation = `
Everything stays up until Ctrl-C. To go on in another terminal:

  export KUBECONFIG=%s
  export PATH=%s:%s:$PATH
  kubectl get httproutes,grpcroutes -A
  gammaguard graph -A -o html > graph.html

You are the cluster's administrator; kubectl --as dev and kubectl --as mesh-admin
are the users of the tour, whose manifests are in
%s

No controller runs here that makes EndpointSlices, so a Service of your own has no endpoints
(backend-no-endpoints), and requests to it fail, until you create an EndpointSlice for it.
None ends a namespace either: a namespace that you delete stays.

gammaguard-webhook runs as a process, not in Pods. So gammaguard preflight --installed
finds no replica that is ready, and kubectl logs finds no log. It keeps the configuration
that it started with, whatever the ConfigMap gammaguard-config says. Its log and its metrics are
%s
%s
`
