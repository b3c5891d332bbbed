package live

import "github.com/gammaguard/gammaguard/mesh"

// RouteVersion returns the version in which routes of the kind are read, the best
// that is served, or nothing where none is known to be served.
func (c *Cache) RouteVersion(kind mesh.RouteKind) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if feed := c.feeds[routeResource(kind)]; feed != nil {
		return feed.version
	}
	return ""
}
