package runner

import (
	"context"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Suite is the three drivers, ready to play.
type Suite struct {
	Drivers []Driver
	server  *apiServer
}

// NewSuite starts what the drivers need, a control plane included. The caller must
// Close it.
func NewSuite(ctx context.Context) (*Suite, error) {
	ctrllog.SetLogger(logr.Discard()) // the log of envtest is of no use here
	core, err := NewCore(ctx)
	if err != nil {
		return nil, err
	}
	handlers, err := newHandlers(ctx)
	if err != nil {
		return nil, err
	}
	server, err := newAPIServer(ctx)
	if err != nil {
		return nil, err
	}
	return &Suite{Drivers: []Driver{core, handlers, server}, server: server}, nil
}

// Close stops everything that was started.
func (s *Suite) Close() error { return s.server.close() }
