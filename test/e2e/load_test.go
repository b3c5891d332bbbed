//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
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
	// loadInterval is the time between two pairs of applies.
	loadInterval = 100 * time.Millisecond
	// mostPairs bounds the load, whatever happens.
	mostPairs = 10 * 60 * 5
	// mostUnderWay bounds the pairs that are under way at once.
	mostUnderWay = 20
	// applyTimeout bounds one apply.
	applyTimeout = 15 * time.Second
)

// load applies a good and a bad route again and again, until it is stopped.
type load struct {
	stop  context.CancelFunc
	done  chan struct{}
	pairs int
	// again has an apply that the API server lost the connection for made again, and
	// counted.
	again bool

	mu    sync.Mutex
	wrong []string
	lost  int
}

var httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// startLoad starts a load. The pace does not depend on how long an answer takes.
func startLoad(t *testing.T) *load {
	t.Helper()
	return startLoadThat(t, false)
}

// startLoadThat is startLoad, of applies that are made again where the API server
// lost the connection to the webhook.
func startLoadThat(t *testing.T, again bool) *load {
	t.Helper()
	config := clientConfig(t)
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, done: make(chan struct{}), again: again}
	go l.run(ctx, client.Resource(httpRoutes).Namespace("shop"))
	t.Cleanup(func() { l.stop(); <-l.done })
	return l
}

func (l *load) run(ctx context.Context, routes dynamic.ResourceInterface) {
	defer close(l.done)
	var under errgroup.Group
	under.SetLimit(2 * mostUnderWay)
	defer func() { _ = under.Wait() }()
	ticker := time.NewTicker(loadInterval)
	defer ticker.Stop()
	for l.pairs < mostPairs {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		number := l.pairs
		l.pairs++
		for _, route := range []struct{ name, parent, rule string }{
			{"good", "cart", ""}, {"bad", "headless", "(parent-headless)"},
		} {
			under.Go(func() error {
				// An apply that was begun is waited for: the load's end does not cut it off.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
				defer cancel()
				name := fmt.Sprintf("%s-%d", route.name, number%10)
				err := applyOnce(ctx, routes, name, route.parent, number)
				for l.again && lostConnection(err) && l.countLost() {
					err = applyOnce(ctx, routes, name, route.parent, number)
				}
				l.note(number, route.rule, err)
				return nil
			})
		}
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

// mostLost bounds the applies that are made again.
const mostLost = 20

// countLost counts one apply that is made again, and says whether it may be.
func (l *load) countLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
	return l.lost <= mostLost
}

// lostConnection says whether the API server had no connection to the webhook, or
// lost it before the answer.
func lostConnection(err error) bool {
	if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		return false
	}
	for _, reason := range []string{"connect: connection refused", "connection reset by peer", "EOF"} {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

// note keeps an answer that is wrong: an error where no rule is to refuse, and
// anything but its refusal where one is.
func (l *load) note(number int, rule string, err error) {
	switch {
	case rule == "" && err == nil, rule != "" && err != nil && strings.Contains(err.Error(), rule):
		return
	case err == nil:
		err = errors.New("admitted, but " + rule + " should refuse it")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf("%s pair %d: %v", time.Now().Format("15:04:05.000"), number, err))
}

// end stops the load and fails where an answer was wrong.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	<-l.done
	if l.pairs < 20 {
		t.Errorf("only %d pairs of applies: not a load", l.pairs)
	}
	t.Logf("%d pairs of applies, %d wrong answers, %d made again", l.pairs, len(l.wrong), l.lost)
	for i, wrong := range l.wrong {
		if i == 10 {
			break
		}
		t.Error(wrong)
	}
}
