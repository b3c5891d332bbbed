package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// targetForms are what SetTarget reads, for errors.
const targetForms = "want a Service, as in service/cart:80, cart.shop:http, or http://cart.shop/path"

// SetTarget reads whom the request is sent to: "service/cart:80", "serviceimport/cart:80",
// "service/dns:53/UDP" with the protocol, "cart:http" with the name of the port, "cart" if the
// Service has one port, or "service/cart.shop:80" with the namespace, which is otherwise the one
// given. A URL, "http://cart.shop/v2?x=1", is read as setURL does.
func (r *Request) SetTarget(text, namespace string) error {
	if strings.Contains(text, "://") {
		return r.setURL(text, namespace)
	}
	r.Port, r.PortName = 0, ""
	kind, rest := "service", text
	if before, after, ok := strings.Cut(text, "/"); ok && !strings.Contains(before, ":") {
		kind, rest = before, after
	}
	name, port, ported := strings.Cut(rest, ":")
	port, protocol, given := strings.Cut(port, "/")
	r.Protocol = mesh.Protocol(strings.ToUpper(protocol))
	if given && r.Protocol != mesh.TCP && r.Protocol != mesh.UDP {
		return fmt.Errorf("%q: the protocol must be TCP or UDP; to name a path, use http://%s", text, rest)
	}
	switch strings.ToLower(kind) {
	case "service", "services", "svc":
		r.Service.Kind = mesh.ServiceKind
	case "serviceimport", "serviceimports":
		r.Service.Kind = mesh.ServiceImportKind
	default:
		if kind == "" || name == "" || strings.ContainsAny(kind+name, "./") {
			return fmt.Errorf("%q: %s", text, targetForms)
		}
		return fmt.Errorf("%q: %s; if %s is the namespace, service/%s.%s%s", text, targetForms, kind, name, kind, strings.TrimPrefix(rest, name))
	}
	if err := r.setHost(name, namespace); err != nil || ported && !r.setPort(port) {
		return fmt.Errorf("%q: %s", text, targetForms)
	}
	return nil
}

// setURL reads whom an HTTP request is sent to, its path, its query, and its Host header:
// "http://cart.shop:8080/v2?x=1", where the port is 80 if the URL has none. The namespace is that of
// the URL, or else the one given. Names of clusterset.local are ServiceImports.
func (r *Request) setURL(text, namespace string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Opaque != "":
		return fmt.Errorf("%q: %s", text, targetForms)
	case u.Scheme == "https":
		return fmt.Errorf("%q: a mesh sees no path of an encrypted request; specify the port, and the name that the client asks for with --server-name, as in service/cart:443", text)
	case u.Scheme != "http":
		return fmt.Errorf("%q: the scheme must be http; %s", text, targetForms)
	}
	r.Port, r.PortName = 0, ""
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	r.Service.Kind, r.Protocol = mesh.ServiceKind, mesh.TCP
	if short, found := strings.CutSuffix(name, ".svc.clusterset.local"); found {
		r.Service.Kind, name = mesh.ServiceImportKind, short
	}
	if err := r.setHost(name, namespace); err != nil || !r.setPort(cmp.Or(u.Port(), "80")) {
		return fmt.Errorf("%q: %s", text, targetForms)
	}
	r.Host = u.Host
	path := cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return r.SetPath(path)
}

// setHost reads "cart", "cart.shop", or "cart.shop.svc", with any domain after it.
func (r *Request) setHost(host, namespace string) error {
	name, rest, qualified := strings.Cut(host, ".")
	if qualified {
		var domain string
		if namespace, domain, _ = strings.Cut(rest, "."); namespace == "" || domain != "" && domain != "svc" && !strings.HasPrefix(domain, "svc.") {
			return errors.New("not the name of a Service")
		}
	}
	if name == "" || strings.ContainsAny(name, "/:") {
		return errors.New("no name")
	}
	r.Service.Name, r.Service.Namespace = name, namespace
	return nil
}

// setPort reads the number or the name of a port, and reports whether it is one.
func (r *Request) setPort(text string) bool {
	if number, err := strconv.ParseUint(text, 10, 16); err == nil {
		r.Port = int32(number)
		return number > 0
	}
	r.PortName = text
	return portName.MatchString(text)
}

// portName is what the name of a Service port looks like (RFC 1123); a number is none.
var portName = regexp.MustCompile(`^[a-z0-9]*[a-z][a-z0-9-]*$`)

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
	r.Path, r.RawQuery = path, query
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
