package proxies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
	"github.com/gammaguard/gammaguard/traffic"
)

// Clusters says which backend a cluster of Envoy stands for: "Service shop/cart:80", or a status
// where its requests fail.
type Clusters func(cluster string) string

// IstioCluster reads the name of a cluster in Istio: outbound|80||cart.shop.svc.cluster.local.
func IstioCluster(cluster string) string {
	parts := strings.Split(cluster, "|")
	if len(parts) != 4 || parts[0] != "outbound" {
		return "cluster " + cluster
	}
	name, rest, _ := strings.Cut(parts[3], ".")
	namespace, _, ok := strings.Cut(rest, ".svc.")
	if !ok {
		return "cluster " + cluster
	}
	return fmt.Sprintf("Service %s/%s:%s", namespace, name, parts[1])
}

// EnvoyRequest returns a request as Envoy sees it, sent to the host.
func EnvoyRequest(r *traffic.Request, host string) *envoy.Request {
	method := r.Method
	switch {
	case method != "":
	case r.GRPC():
		method = "POST"
	default:
		method = "GET"
	}
	path := r.Path
	if path == "" {
		path = "/"
	}
	return &envoy.Request{Host: host, Method: method, Path: path, Headers: r.Headers, Query: r.Query}
}

// FromEnvoy returns what Envoy makes of a request that was sent to the port.
func FromEnvoy(in *envoy.Answer, request *envoy.Request, port int32, clusters Clusters) *Answer {
	if r := in.Redirect; r != nil {
		return &Answer{Redirect: redirect(in.Status, r.Scheme, r.Host, r.Port, r.Path, request.Path, port), Headers: envoyHeaders(envoy.Headers{Response: in.Headers.Response})}
	}
	if in.Status != 0 {
		return &Answer{Backends: []string{fmt.Sprint(in.Status)}}
	}
	out := &Answer{Path: changed(in.Path, request.Path), Host: in.Host, Timeout: bound(in.Timeout), BackendTimeout: bound(in.TryTimeout)}
	var all []share
	for _, s := range in.Shares {
		text := clusters(s.Cluster)
		if changes := envoyHeaders(envoy.Headers{Request: slices.Concat(in.Headers.Request, s.Headers.Request), Response: slices.Concat(in.Headers.Response, s.Headers.Response)}); len(changes) > 0 && failures[text] == "" {
			text += " [" + strings.Join(changes, ", ") + "]"
		}
		all = append(all, share{text, s.Weight})
	}
	out.Backends = shares(all)
	for _, m := range in.Mirrors {
		if to := clusters(m.Cluster); m.Parts > 0 && failures[to] == "" {
			out.Mirrors = append(out.Mirrors, fraction(to, m.Parts, m.Of))
		}
	}
	slices.Sort(out.Mirrors)
	out.unreached()
	return out
}

func envoyHeaders(h envoy.Headers) []string {
	var out []string
	for _, text := range h.Request {
		out = append(out, "request "+text)
	}
	for _, text := range h.Response {
		out = append(out, "response "+text)
	}
	slices.Sort(out)
	return out
}
