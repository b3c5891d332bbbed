package envoy

import (
	"errors"
	"fmt"
	"strings"
)

// Config is a route configuration (config.route.v3.RouteConfiguration). It is for one goroutine.
type Config struct {
	Name string
	// Place is where it stands in what was read.
	Place string
	hosts []virtualHost
	// ignorePort: the port of the Host header does not count.
	ignorePort bool
	headers    changes
	// found are the virtual hosts that were looked for before.
	found map[string]*virtualHost
}

// virtualHost is a virtual host (config.route.v3.VirtualHost).
type virtualHost struct {
	name    string
	domains []string
	routes  []route
	headers changes
}

// Request is one request to a proxy.
type Request struct {
	// Host is the Host header, or the authority of HTTP/2.
	Host   string
	Method string
	// Path is without the query.
	Path string
	// Headers are by their names in lower case; values of a repeated one are joined by commas.
	Headers map[string]string
	// Query has the first value of each query parameter.
	Query map[string]string
}

// ErrNone is why a text without route configurations cannot be read.
var ErrNone = errors.New("no route configuration: want Envoy's config_dump, or what istioctl proxy-config routes -o json prints")

// MaxRoutes is how many routes a text may have.
const MaxRoutes = 100_000

const routeType = "envoy.config.route.v3.RouteConfiguration"

// Read returns the route configurations in a JSON text: Envoy's config_dump, with their own
// list or within listeners, a list as istioctl prints it, or one alone. It is an error where there
// are none.
func Read(data []byte) ([]*Config, error) {
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	configs := root.configs()
	switch {
	case *root.first != nil:
		return nil, *root.first
	case len(configs) == 0:
		return nil, ErrNone
	}
	return configs, nil
}

// configs returns the route configurations under a node.
func (n node) configs() []*Config {
	switch value := n.value.(type) {
	case []any:
		var all []*Config
		for _, item := range n.list() {
			all = append(all, item.configs()...)
		}
		return all
	case map[string]any:
		if kind, _ := value["@type"].(string); strings.HasSuffix(kind, "/"+routeType) || n.get("virtualHosts").exists() {
			return []*Config{n.config()}
		}
		var all []*Config
		for _, name := range []string{
			"configs", "resources", "resource", // config_dump; xDS
			"staticRouteConfigs", "dynamicRouteConfigs", "routeConfig", // RoutesConfigDump
			"spec", "items", // a CiliumEnvoyConfig, and a list of them
		} {
			if field := n.get(name); field.exists() {
				all = append(all, field.configs()...)
			}
		}
		return all
	case nil:
		return nil
	}
	n.fail("want a route configuration, not %s", n.kind())
	return nil
}

// config reads a route configuration.
func (n node) config() *Config {
	c := &Config{Name: n.get("name").text(), Place: n.place, ignorePort: n.get("ignorePortInHostMatching").flag(false), headers: n.changes(), found: map[string]*virtualHost{}}
	for _, item := range n.get("virtualHosts").list() {
		host := virtualHost{name: item.get("name").text(), headers: item.changes()}
		for _, domain := range item.get("domains").list() {
			host.domains = append(host.domains, strings.ToLower(domain.text()))
		}
		routes := item.get("routes").list()
		if item.spent.routes += len(routes); item.spent.routes > MaxRoutes {
			item.fail("there are more than %d routes", MaxRoutes)
			return c
		}
		for _, route := range routes {
			host.routes = append(host.routes, route.route())
		}
		c.hosts = append(c.hosts, host)
	}
	return c
}

// find returns the virtual host for a Host header: an exact domain first, then the longest
// suffix ("*.example.com"), the longest prefix ("example.*"), and at last "*".
func (c *Config) find(host string) *virtualHost {
	found, known := c.found[host]
	if !known {
		found = c.look(host)
		if len(c.found) == maxFound {
			clear(c.found)
		}
		c.found[host] = found
	}
	return found
}

// maxFound is how many virtual hosts are kept.
const maxFound = 1000

// look looks for a virtual host.
func (c *Config) look(host string) *virtualHost {
	host = strings.ToLower(host)
	if i := strings.LastIndexByte(host, ':'); c.ignorePort && i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	var best *virtualHost
	bestRank := [2]int{}
	for i := range c.hosts {
		for _, domain := range c.hosts[i].domains {
			rank := domainRank(domain, host)
			if rank[0] > bestRank[0] || rank[0] == bestRank[0] && rank[1] > bestRank[1] {
				best, bestRank = &c.hosts[i], rank
			}
		}
	}
	return best
}

// domainRank returns the kind of match and its length: a larger one takes precedence. It is zero
// where the domain does not match.
func domainRank(domain, host string) (rank [2]int) {
	switch {
	case domain == host:
		return [2]int{4, len(domain)}
	case domain == "*":
		return [2]int{1, 0}
	case strings.HasPrefix(domain, "*") && strings.HasSuffix(host, domain[1:]) && len(host) >= len(domain):
		return [2]int{3, len(domain)}
	case strings.HasSuffix(domain, "*") && strings.HasPrefix(host, domain[:len(domain)-1]) && len(host) >= len(domain):
		return [2]int{2, len(domain)}
	}
	return [2]int{}
}

// Serves reports whether a virtual host of the configuration, other than that of every host,
// is for the Host header.
func (c *Config) Serves(host string) bool {
	found := c.find(host)
	if found == nil {
		return false
	}
	for _, domain := range found.domains {
		if domain != "*" && domainRank(domain, strings.ToLower(host))[0] > 0 {
			return true
		}
	}
	return false
}

// Answer returns what becomes of a request. The error says why that cannot be told: a match
// that counts for it is of a kind that this package does not know.
func (c *Config) Answer(r *Request) (*Answer, error) {
	host := c.find(r.Host)
	if host == nil {
		return &Answer{Status: notFound}, nil
	}
	for i := range host.routes {
		route := &host.routes[i]
		matches, err := route.matches(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", route.place, err)
		}
		if matches {
			return route.answer(r, c.headers, host.headers)
		}
	}
	return &Answer{Status: notFound}, nil
}

const notFound = 404
