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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// loadInterval is the time between two pairs of applies.
	loadInterval = 50 * time.Millisecond
	// mostPairs bounds the load, whatever happens.
	mostPairs = 20 * 60 * 5
	// appliesTimeout bounds one apply.
	applyTimeout = 15 * time.Second
)

// load applies a good and a bad route again and again, until it is stopped.
type load struct {
	stop  context.CancelFunc
	done  chan struct{}
	pairs int

	mu    sync.Mutex
	wrong []string
}

var httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// startLoad starts a load. Each pair of applies has a goroutine of its own, so that
// the pace does not depend on how long an answer takes.
func startLoad(t *testing.T) *load {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", clusterFile(t, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, done: make(chan struct{})}
	go l.run(ctx, client.Resource(httpRoutes).Namespace("shop"))
	t.Cleanup(func() { l.stop(); <-l.done })
	return l
}

func (l *load) run(ctx context.Context, routes dynamic.ResourceInterface) {
	defer close(l.done)
	var under sync.WaitGroup
	defer under.Wait()
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
			under.Go(func() {
				// An apply that was begun is waited for: the load's end does not cut it off.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
				defer cancel()
				name := fmt.Sprintf("%s-%d", route.name, number%10)
				l.note(number, route.rule, applyOnce(ctx, routes, name, route.parent, number))
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
	t.Logf("%d pairs of applies, %d wrong answers", l.pairs, len(l.wrong))
	for i, wrong := range l.wrong {
		if i == 10 {
			break
		}
		t.Error(wrong)
	}
}
