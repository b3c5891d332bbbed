package traffic

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Request is one request, or connection, to a Service port.
type Request struct {
	// Service and Port are whom it is sent to.
	Service mesh.ServiceKey `json:"service"`
	Port    int32           `json:"port"`
	// PortName is the name of the port in the place of its number, if that is zero. If both are left
	// out, the Service has one port.
	PortName string `json:"-"`
	// Protocol is the transport. Where it is left out, it is the port's; TCP if there
	// are two ports of the number.
	Protocol mesh.Protocol `json:"protocol,omitempty"`
	// From is the client's namespace.
	From string `json:"from"`
	// FromGateway: a Gateway sends it, and From says nothing.
	FromGateway bool `json:"fromGateway,omitempty"`
	// Method is the HTTP method: GET where it is left out, POST for gRPC.
	Method string `json:"method,omitempty"`
	// Path is without the query: / where it is left out. For gRPC it is
	// "/SERVICE/METHOD".
	Path string `json:"path,omitempty"`
	// Host is the Host header, and "" where it is not known.
	Host string `json:"host,omitempty"`
	// Headers by their names in lower case. Values of a repeated header are
	// joined by commas (RFC 9110, section 5.3).
	Headers map[string]string `json:"headers,omitempty"`
	// Query parameters. Of a repeated one the first value counts, as the Gateway
	// API recommends.
	Query map[string]string `json:"query,omitempty"`
	// RawQuery is the query as it is written; empty where Query says it all.
	RawQuery string `json:"-"`
	// ServerName is what a TLS client asks for (SNI).
	ServerName string `json:"serverName,omitempty"`
}

const (
	contentType = "content-type"
	grpcContent = "application/grpc"
)

// GRPC reports whether the request is a gRPC one.
func (r *Request) GRPC() bool { return strings.HasPrefix(r.Headers[contentType], grpcContent) }

// method returns the HTTP method, with its default.
func (r *Request) method() string {
	if r.GRPC() {
		return cmp.Or(r.Method, "POST")
	}
	return cmp.Or(r.Method, "GET")
}

// path returns the path, with its default.
func (r *Request) path() string { return cmp.Or(r.Path, "/") }

// call splits the path of a gRPC request.
func (r *Request) call() (service, method string, ok bool) {
	service, method, ok = strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
	return service, method, ok && r.GRPC()
}

// hostOf returns the host without its port.
func hostOf(host string) string {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		return host[:at]
	}
	return host
}

// value returns the request's value of a subject, and whether it has one.
func (r *Request) value(v mesh.Subject) (string, bool) {
	switch v.Dimension {
	case mesh.PathDimension:
		return r.path(), true
	case mesh.MethodDimension:
		return r.method(), true
	case mesh.HeaderDimension:
		if v.Name == "host" && r.Host != "" {
			return r.Host, true
		}
		value, ok := r.Headers[v.Name]
		return value, ok
	case mesh.HostDimension:
		return strings.ToLower(hostOf(r.Host)), r.Host != ""
	case mesh.QueryParamDimension:
		value, ok := r.Query[v.Name]
		return value, ok
	case mesh.GRPCServiceDimension:
		service, _, ok := r.call()
		return service, ok
	case mesh.GRPCMethodDimension:
		_, method, ok := r.call()
		return method, ok
	}
	return strings.ToLower(r.ServerName), r.ServerName != ""
}

// query returns the query as it is written.
func (r *Request) query() string {
	if r.RawQuery != "" {
		return r.RawQuery
	}
	values := url.Values{}
	for name, value := range r.Query {
		values.Set(name, value)
	}
	return values.Encode()
}
