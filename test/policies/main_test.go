// Package policies_test tries config/overlays/policies on a real API server: grants without a
// Pod.
package policies_test

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(bed.Run(m, bed.Options{Experimental: true, AllVersions: true, MultiCluster: true}, &plane))
}
