//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// loadInterval is the time between two bursts of applies, and burst is how many
	// pairs begin at once: so many that the API server needs several connections, and
	// new ones when some are lost.
	loadInterval = 500 * time.Millisecond
	burst        = 5
	// leastPairs are applied before what disturbs the load, and after it.
	leastPairs = 20
	// mostPairs bounds the load, whatever happens.
	mostPairs = 10 * 60 * 5
	// mostUnderWay bounds the pairs that are under way at once.
	mostUnderWay = 40
	// applyTimeout bounds one apply: the API server waits for both webhooks.
	applyTimeout = 25 * time.Second
)

// load applies a good and a bad route again and again, until it is stopped.
type load struct {
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	pairs   int
	slowest time.Duration
	wrong   []string
	refused []refusedApply
	kills   []span
}

// span is a time.
type span struct{ begin, end time.Time }

// refusedApply is one for which the API server got no connection to the webhook, or
// lost it before it was answered.
type refusedApply struct {
	span
	what string
}

var httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// startLoad starts a load, and returns when it goes. The pace does not depend on how
// long an answer takes.
func startLoad(t *testing.T) *load {
	t.Helper()
	config := clientConfig(t)
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, done: make(chan struct{})}
	go l.run(ctx, client.Resource(httpRoutes).Namespace("shop"))
	t.Cleanup(func() { l.stop(); <-l.done })
	l.waitForPairs(t)
	return l
}

// waitForPairs lets the load go on for a while.
func (l *load) waitForPairs(t *testing.T) {
	t.Helper()
	enough := l.count() + leastPairs
	waitFor(t, "more pairs of applies", time.Minute, func() error {
		if l.count() < enough {
			return errAgain
		}
		return nil
	})
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pairs
}

func (l *load) run(ctx context.Context, routes dynamic.ResourceInterface) {
	defer close(l.done)
	var under errgroup.Group
	under.SetLimit(2 * mostUnderWay)
	defer func() { _ = under.Wait() }()
	ticker := time.NewTicker(loadInterval)
	defer ticker.Stop()
	for number := range mostPairs {
		if number%burst == 0 {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
		for _, route := range []struct{ name, parent, rule string }{
			{"good", "cart", ""}, {"bad", "headless", "(parent-headless)"},
		} {
			under.Go(func() error {
				// An apply that was begun is waited for: the load's end does not cut it off.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
				defer cancel()
				begin := time.Now()
				err := applyOnce(ctx, routes, fmt.Sprintf("%s-%d", route.name, number%(10*burst)), route.parent, number)
				l.note(number, route.rule, err, span{begin, time.Now()})
				return nil
			})
		}
		l.mu.Lock()
		l.pairs++
		l.mu.Unlock()
	}
}

// applyOnce applies a route, changed since the last time, by server-side apply.
func applyOnce(ctx context.Context, routes dynamic.ResourceInterface, name, parent string, number int) error {
	document := fmt.Sprintf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":%q,"annotations":{"number":"%d"}},
"spec":{"parentRefs":[{"group":"","kind":"Service","name":%q,"port":80}],"rules":[{"backendRefs":[{"name":"cart","port":80}]}]}}`, name, number, parent)
	force := true
	_, err := routes.Patch(ctx, name, types.ApplyPatchType, []byte(document), metav1.PatchOptions{FieldManager: "load", Force: &force})
	return err
}

// killed reports that a server was killed, and that its endpoint was gone at the end
// of the span: only applies under way in between may have been refused.
func (l *load) killed(at span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kills = append(l.kills, at)
}

// within reports whether it overlaps one of the spans.
func (s span) within(kills []span) bool {
	return slices.ContainsFunc(kills, func(kill span) bool {
		return s.begin.Before(kill.end) && s.end.After(kill.begin)
	})
}

// noAnswer reports whether the API server found the webhook's port closed, or lost
// the connection.
func noAnswer(err error) bool {
	return strings.Contains(err.Error(), "failed calling webhook") &&
		slices.ContainsFunc([]string{"EOF", "connection refused", "connection reset by peer", "broken pipe"}, func(reason string) bool {
			return strings.Contains(err.Error(), reason)
		})
}

// note keeps an answer that is wrong: an error where no rule is to refuse, and
// anything but its refusal where one is.
func (l *load) note(number int, rule string, err error, at span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, at.end.Sub(at.begin))
	switch {
	case rule == "" && err == nil, rule != "" && err != nil && strings.Contains(err.Error(), rule):
		return
	case err == nil:
		err = errors.New("admitted, but " + rule + " should refuse it")
	}
	what := fmt.Sprintf("%s pair %d, after %s: %v", at.end.Format("15:04:05.000"), number, at.end.Sub(at.begin).Round(time.Millisecond), err)
	if noAnswer(err) {
		l.refused = append(l.refused, refusedApply{at, what})
		return
	}
	l.wrong = append(l.wrong, what)
}

// end stops the load, after some more of it, and fails where an answer was wrong, or
// an apply was refused that was not under way between the death of a server and the
// removal of its endpoint.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.waitForPairs(t)
	l.stop()
	<-l.done
	excused := 0
	for _, refused := range l.refused {
		if refused.within(l.kills) {
			excused++
			t.Logf("refused: %s", refused.what)
		} else {
			l.wrong = append(l.wrong, refused.what)
		}
	}
	for _, kill := range l.kills {
		t.Logf("a server was killed at %s, its endpoint gone after %s at most", kill.begin.Format("15:04:05.000"), kill.end.Sub(kill.begin).Round(time.Millisecond))
	}
	t.Logf("%d pairs of applies, the slowest took %s; %d wrong answers, %d applies refused while an endpoint had no server",
		l.pairs, l.slowest.Round(time.Millisecond), len(l.wrong), excused)
	for i, wrong := range l.wrong {
		if i == 10 {
			break
		}
		t.Error(wrong)
	}
}
