package traffic

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// SetTarget reads whom the request is sent to: "service/cart:80",
// "serviceimport/cart:80", "service/dns:53/UDP" with the protocol, or
// "service/cart.shop:80" with the namespace, which is otherwise the one given.
func (r *Request) SetTarget(text, namespace string) error {
	const form = "want KIND/NAME:PORT, such as service/cart:80"
	kind, rest, _ := strings.Cut(text, "/")
	name, port, _ := strings.Cut(rest, ":")
	port, protocol, given := strings.Cut(port, "/")
	r.Protocol = mesh.Protocol(strings.ToUpper(protocol))
	if given && r.Protocol != mesh.TCP && r.Protocol != mesh.UDP {
		return fmt.Errorf("%q: the protocol must be TCP or UDP", text)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || name == "" {
		return fmt.Errorf("%q: %s", text, form)
	}
	switch strings.ToLower(kind) {
	case "service", "services", "svc":
		r.Service.Kind = mesh.ServiceKind
	case "serviceimport", "serviceimports":
		r.Service.Kind = mesh.ServiceImportKind
	default:
		return fmt.Errorf("%q: %s", text, form)
	}
	r.Service.Name, r.Service.Namespace, r.Port = name, namespace, int32(number)
	if before, after, ok := strings.Cut(name, "."); ok {
		r.Service.Name, r.Service.Namespace = before, after
	}
	return nil
}

// SetPath reads a path, with or without a query: "/v2/items?color=blue".
func (r *Request) SetPath(text string) error {
	path, query, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("path %q: it must start with /", text)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("path %q: %w", text, err)
	}
	r.Path = path
	for name := range values {
		if r.Query == nil {
			r.Query = map[string]string{}
		}
		r.Query[name] = values.Get(name)
	}
	return nil
}

// AddHeader reads a header: "tenant: gold". Host is one of them.
func (r *Request) AddHeader(text string) error {
	name, value, ok := strings.Cut(text, ":")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !ok || name == "" {
		return fmt.Errorf("header %q: want NAME: VALUE", text)
	}
	if name == "host" {
		r.Host = value
		return nil
	}
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	if before, repeated := r.Headers[name]; repeated {
		value = before + "," + value
	}
	r.Headers[name] = value
	return nil
}

// SetGRPC makes the request a gRPC one, to "SERVICE/METHOD".
func (r *Request) SetGRPC(text string) error {
	service, method, ok := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	if !ok || service == "" || method == "" || strings.Contains(method, "/") {
		return fmt.Errorf("gRPC method %q: want SERVICE/METHOD", text)
	}
	r.Method, r.Path = "POST", "/"+service+"/"+method
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	r.Headers[contentType] = grpcContent
	return nil
}
