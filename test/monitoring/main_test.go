//go:build e2e

package monitoring

import (
	"os"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) { os.Exit(bed.Run(m, bed.Options{}, &plane)) }
