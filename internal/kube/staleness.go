package kube

import (
	"fmt"
	"time"
)

// The events of a watch come in order, bookmarks among them: with one that was taken in,
// all changes before it are known. The API server sends no bookmarks for a resource that
// has not changed since its own start; but it ends each watch in order, after what it had
// to send since the beginning. That a list or another watch works says nothing about a
// watch that hangs.

// UpdateResourceVersion implements toolscache.ResourceVersionUpdater: it is called after
// each event and each bookmark.
func (f *feed) UpdateResourceVersion(string) { f.knows(time.Now()) }

// knows notes that all changes up to a moment have arrived.
func (f *feed) knows(moment time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if moment.After(f.known) {
		f.known = moment
	}
}

// age returns for how long it is not known what changed; it is not ok before the first
// list.
func (f *feed) age() (age time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.known), f.listed
}

// Age returns the age of the oldest part of the cache, and the resource. It is zero as
// long as nothing was listed.
func (c *Cache) Age() (age time.Duration, of string) {
	age, feed := c.oldest()
	if feed == nil {
		return 0, ""
	}
	return age, feed.resource.String()
}

// oldest returns the age of the oldest part of the cache, and its feed: nil as long as
// nothing was listed.
func (c *Cache) oldest() (oldest time.Duration, of *feed) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, feed := range c.feeds {
		if age, ok := feed.age(); ok && age > oldest {
			oldest, of = age, feed
		}
	}
	return oldest, of
}

// Stale returns nil unless some part of the cache is older than Options.MaxStaleness.
// Nothing must be concluded from a stale cache.
func (c *Cache) Stale() error {
	now := time.Now()
	if until := c.freshUntil.Load(); c.options.MaxStaleness == 0 || until != nil && now.Before(*until) {
		return nil
	}
	age, of := c.oldest()
	if age > c.options.MaxStaleness {
		err := fmt.Errorf("no data received from the API server about %s for %s", of.resource, age.Round(time.Second))
		if why := of.lastError(); why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		return err
	}
	if c.HasSynced() {
		until := now.Add(c.options.MaxStaleness - age)
		c.freshUntil.Store(&until)
	}
	return nil
}

// askAgain has the cache ask at once which kinds are served: what is no longer served
// does not get old.
func (c *Cache) askAgain() {
	select {
	case c.unserved <- struct{}{}:
	default:
	}
}
