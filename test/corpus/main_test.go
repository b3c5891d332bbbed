// Package corpus compares what is said offline with what a real API server says:
// package definitions with the API server alone, and package check with the API server
// with gammaguard's webhooks in front.
package corpus

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/test/bed"
)

// channel is a channel of the Gateway API, with a control plane that has its
// definitions installed.
type channel struct {
	channel definitions.Channel
	options bed.Options
	plane   *bed.ControlPlane
	// every fault, or every so many of them, is planted: the channels are alike.
	every int
}

var (
	standard     = &channel{channel: definitions.Standard, options: bed.Options{MultiCluster: true}, every: 1}
	experimental = &channel{channel: definitions.Experimental, options: bed.Options{Experimental: true}, every: 20}
	channels     = []*channel{standard, experimental}
)

// exempt is a user whose requests do not reach gammaguard.
const exempt = "exempt"

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // envtest has nothing to say here
	os.Exit(bed.Run(both{m}, standard.options, &standard.plane))
}

// both runs the tests with the other control plane up, too.
type both struct{ m *testing.M }

func (b both) Run() int { return bed.Run(b.m, experimental.options, &experimental.plane) }
