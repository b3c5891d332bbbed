// Command matrix tries gammaguard with all releases of package compat, and writes
// docs/compatibility.md. With releases of Kubernetes as arguments, such as v1.30.14, it
// tries those alone and prints the page.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/compat"
)

func main() {
	ctrllog.SetLogger(logr.Discard())
	bed.Main(run)
}

// run tries all, and writes the page only where nothing failed.
func run(ctx context.Context, chosen []string) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	kubernetes := compat.Kubernetes
	for _, release := range chosen {
		if !slices.Contains(kubernetes, release) {
			return fmt.Errorf("%s: not one of %v", release, kubernetes)
		}
	}
	if len(chosen) > 0 {
		kubernetes = chosen
	}
	var clusters []compat.Cluster
	var errs []error
	for _, release := range kubernetes {
		cluster, err := try(ctx, root, release)
		if err != nil {
			errs = append(errs, fmt.Errorf("on Kubernetes %s: %w", release, err))
		}
		clusters = append(clusters, cluster)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	page := compat.Page(clusters)
	if len(chosen) > 0 {
		fmt.Print(page)
		return nil
	}
	return os.WriteFile(filepath.Join(root, "docs", "compatibility.md"), []byte(page), 0o644)
}

// try tries all releases of the Gateway API on an API server, also after one failed.
func try(ctx context.Context, root, kubernetes string) (cluster compat.Cluster, err error) {
	cluster.Kubernetes = kubernetes
	say("Kubernetes %s:", kubernetes)
	cp, err := bed.Start(ctx, bed.Options{Kubernetes: kubernetes, Bare: true})
	if err != nil {
		return cluster, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	overlay := filepath.Join(root, "config", "overlays", "self-managed")
	if _, stderr, err := cp.Kubectl(ctx, "", "apply", "--server-side", "-k", overlay); err != nil {
		return cluster, fmt.Errorf("install the self-managed overlay: %w: %s", err, stderr)
	}
	if err := compat.TryPolicies(ctx, cp); err != nil {
		return cluster, err
	}
	releases := compat.Releases()
	if _, err := releases[0].Install(ctx, cp); err != nil {
		return cluster, err
	}
	g, err := guard.Start(ctx, cp, guard.Options{})
	if err != nil {
		return cluster, err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	var errs []error
	for _, release := range releases {
		started := time.Now()
		result, err := compat.Try(ctx, cp, g, release)
		if err != nil {
			say("  %v\n  the log of gammaguard:\n%s", err, g.Log())
			errs = append(errs, err)
			continue
		}
		say("  %s: works after %s, %d definitions refused", release, time.Since(started).Round(time.Second), len(result.Refused))
		cluster.Results = append(cluster.Results, result)
	}
	return cluster, errors.Join(errs...)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
