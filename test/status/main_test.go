// Package status tests the status reconciler against a real API server: that it
// loses nothing of other writers, hands over to another leader, corrects what changed
// while nobody looked, and works in proportion to the change.
package status

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/gammaguard/gammaguard/test/bed"
)

// plane is shared by all tests of the package; each keeps to namespaces of its own.
var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if os.Getenv(processConfig) != "" {
		os.Exit(runProcess())
	}
	os.Exit(bed.Run(m, bed.Options{Experimental: true, MultiCluster: true}, &plane))
}
