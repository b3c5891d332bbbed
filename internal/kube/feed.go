package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// feed keeps the cache up to date with one resource in one version.
type feed struct {
	resource resource
	version  string
	cancel   context.CancelFunc
	done     chan struct{}
	table    *table

	mu     sync.Mutex
	listed bool
	err    error // of the last request
	// known is the moment up to which all changes are known to have arrived.
	known time.Time

	// asked is when the last list was asked for. Only the reflector's goroutine uses it.
	asked time.Time
}

// waiting says what the feed waits for; nothing once it was listed.
func (f *feed) waiting() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.listed:
		return ""
	case f.err != nil:
		return fmt.Sprintf("%s: %v", f.resource, f.err)
	}
	return f.resource.String()
}

func (f *feed) hasListed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

func (f *feed) setListed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = true
}

func (f *feed) answered(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// lastError returns why the last request failed; nil if it did not.
func (f *feed) lastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *feed) stop() {
	f.cancel()
	<-f.done
}

// run has a feed for each resource that is served, until the context ends. It asks what
// is served soon after a change, since definitions that are installed or replaced come one
// after the other, and less and less often while nothing changes.
func (c *Cache) run(ctx context.Context) {
	const shortest = 500 * time.Millisecond
	wait := shortest
	for {
		if c.follow(ctx) {
			wait = shortest
		}
		wait = min(wait, c.options.DiscoveryInterval)
		select {
		case <-ctx.Done():
			for _, feed := range c.feeds {
				feed.stop()
			}
			return
		case <-time.After(wait):
			wait *= 2
		case <-c.unserved:
			wait = shortest
		}
	}
}

// follow asks what is served, starts feeds for what is new and stops those of what
// is gone, and reports whether anything changed. On an error all stays as it is, and only
// the first one is a change. It alone writes c.feeds.
func (c *Cache) follow(ctx context.Context) (changed bool) {
	found, err := c.client.discover(ctx)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		changed = c.discoveryError == nil
		c.discoveryError = err
		return changed
	}
	feeds := map[resource]*feed{}
	for r, version := range found {
		if old := c.feeds[r]; old != nil && old.version == version {
			feeds[r] = old
		}
	}
	for r, old := range c.feeds {
		if feeds[r] == nil {
			old.stop()
			changed = true
		}
		if _, still := found[r]; !still {
			old.table.empty()
		}
	}
	for r, version := range found {
		if feeds[r] == nil {
			feeds[r] = c.startFeed(ctx, r, version)
			changed = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = changed || c.discoveryError != nil
	c.feeds, c.discoveryError = feeds, nil
	return changed
}

// serves reports whether the resource is known to be served.
func (c *Cache) serves(r resource) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.feeds[r] != nil
}

// lister lists and watches for a reflector.
type lister struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported has the reflector list instead of watching for a
// list: an API server takes twice as long to send the same objects as events.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// itemList is a list of what is kept of the objects.
type itemList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject implements runtime.Object. Copies are shallow: what is kept is
// never changed.
func (l *itemList) DeepCopyObject() runtime.Object { c := *l; return &c }

func (c *Cache) startFeed(ctx context.Context, r resource, version string) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{resource: r, version: version, cancel: cancel, done: make(chan struct{}), table: c.tables[r]}
	decode := func(text jsontext.Value) (*item, error) { return c.decode(r, text) }
	lister := lister{&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			var list itemList
			var err error
			f.asked = time.Now()
			list.ListMeta, err = c.client.list(ctx, r, version, "", &options, func(text jsontext.Value) error {
				item, err := decode(text)
				list.Items = append(list.Items, item)
				return err
			})
			f.answered(err)
			if apierrors.IsNotFound(err) {
				c.askAgain()
			}
			return &list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if bound := c.options.MaxStaleness; bound > 0 {
				seconds := int64((bound / 3).Seconds())
				options.TimeoutSeconds = &seconds
			}
			start := time.Now()
			w, err := c.client.watch(ctx, r, version, &options, decode, func() { f.knows(start) })
			f.answered(err)
			return w, err
		},
	}}
	reflector := toolscache.NewReflectorWithOptions(lister, nil, f, toolscache.ReflectorOptions{
		Name: r.String(), TypeDescription: r.kind,
	})
	go func() {
		defer close(f.done)
		reflector.RunWithContext(ctx)
	}()
	return f
}

// A feed implements toolscache.ReflectorStore: it is the end of its reflector.

// Add implements toolscache.ReflectorStore.
func (f *feed) Add(object any) error { return f.Update(object) }

// Update implements toolscache.ReflectorStore.
func (f *feed) Update(object any) error {
	i := object.(*item)
	f.table.put(i.key(), i.value, false)
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (f *feed) Delete(object any) error {
	f.table.put(object.(*item).key(), nil, false)
	return nil
}

// Replace takes a whole list. What is not in it is removed.
func (f *feed) Replace(list []any, _ string) error {
	first := !f.hasListed()
	gone := sets.New(f.table.ListKeys()...)
	for _, object := range list {
		i := object.(*item)
		gone.Delete(i.key())
		f.table.put(i.key(), i.value, first)
	}
	for key := range gone {
		f.table.put(key, nil, false)
	}
	f.setListed()
	f.knows(f.asked)
	return nil
}

// Resync implements toolscache.ReflectorStore: there is nothing to do.
func (f *feed) Resync() error { return nil }
