package status

import (
	"context"
	"errors"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestPending(t *testing.T) {
	var p pending
	a, b := mesh.ServiceKey{Name: "a"}, mesh.ServiceKey{Name: "b"}
	count := func(what string, want int) {
		t.Helper()
		if got := p.count(); got != want {
			t.Errorf("%s: %d looks are due, want %d", what, got, want)
		}
	}
	if err := p.wait(t.Context()); err != nil {
		t.Errorf("waiting for nothing: %v", err)
	}
	p.ask([]mesh.ServiceKey{a, b})
	ticket := p.begin(a)
	p.ask([]mesh.ServiceKey{a})
	p.done(a, ticket)
	count("asked again while under way", 2)
	p.done(a, p.begin(a))
	count("one done", 1)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting without time: %v", err)
	}
	idle := make(chan error)
	go func() { idle <- p.wait(t.Context()) }()
	p.done(b, p.begin(b))
	if err := <-idle; err != nil {
		t.Errorf("waiting: %v", err)
	}
	count("all done", 0)
	p.done(a, p.begin(a)) // a look that nobody asked for
	count("a look too many", 0)
}
