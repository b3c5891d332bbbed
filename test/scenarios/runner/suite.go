package runner

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Suite is the three drivers, ready to play.
type Suite struct {
	Drivers []Driver
	server  *APIServer
}

// NewSuite starts what the drivers need, a control plane among it. The caller must
// Close it.
func NewSuite(ctx context.Context) (*Suite, error) {
	ctrllog.SetLogger(logr.Discard()) // what the test bed's library says helps nobody here
	schemas, err := loadSchemas(ctx)
	if err != nil {
		return nil, err
	}
	server, err := NewAPIServer(ctx)
	if err != nil {
		return nil, err
	}
	return &Suite{Drivers: []Driver{&Core{schemas}, &Handlers{schemas}, server}, server: server}, nil
}

// Close stops all that was started.
func (s *Suite) Close() error { return s.server.Close() }

// Result is what came of one scenario.
type Result struct {
	Name string
	// Failures are by driver; empty if the scenario has passed. A scenario that
	// cannot be read has failed for every driver.
	Failures map[string][]Failure
	// Broken says why the scenario cannot be read.
	Broken error
}

// Passed says whether all drivers agree with the scenario.
func (r *Result) Passed() bool { return len(r.Failures) == 0 && r.Broken == nil }

// Play plays the scenario by every driver.
func (s *Suite) Play(ctx context.Context, scenario *Scenario) (*Result, error) {
	result := &Result{Name: scenario.Name, Failures: map[string][]Failure{}}
	for _, driver := range s.Drivers {
		if failures := Play(ctx, driver, scenario); len(failures) > 0 {
			result.Failures[driver.Name()] = failures
		}
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(errors.New("interrupted"), err)
		}
	}
	return result, nil
}
