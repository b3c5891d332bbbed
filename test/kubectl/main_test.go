// Package kubectl tests what users meet: real manifests and the real kubectl, the
// installed policies, and the gammaguard-webhook binary with the rights that it has
// where it is installed.
package kubectl

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // envtest has nothing to say here
	os.Exit(bed.Run(m, bed.Options{}, &plane))
}

// start runs gammaguard with the configuration in front of the control plane.
func start(t *testing.T, config string) *guard.Guard {
	t.Helper()
	if err := guard.Install(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	g, err := guard.Start(t.Context(), plane, guard.Options{
		Config: "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n" + config,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		unregister(t)
	})
	return g
}

// unregister removes the webhooks, which would refuse mesh routes from now on.
func unregister(t *testing.T) {
	t.Helper()
	_, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "--ignore-not-found",
		"validatingwebhookconfigurations,mutatingwebhookconfigurations", "gammaguard")
	if err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
}

// kubectl runs kubectl, which must succeed, and returns what it prints.
func kubectl(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := plane.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return stdout, stderr
}

// apply applies a manifest as the administrator, and returns the warnings.
func apply(t *testing.T, manifest string, args ...string) []string {
	t.Helper()
	_, stderr := kubectl(t, manifest, append([]string{"apply", "-f", "-"}, args...)...)
	var warnings []string
	for line := range strings.Lines(stderr) {
		if warning, is := strings.CutPrefix(strings.TrimSpace(line), "Warning: "); is {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}
