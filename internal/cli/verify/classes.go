package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// classNames are the classes of requests to a Service by what decides them.
type classNames struct {
	text    map[string]string
	clients []string
}

// classNames returns the classes of requests to a Service, as far as they can be found.
func (c *comparison) classNames(key mesh.ServiceKey) classNames {
	names := classNames{text: map[string]string{}}
	classes, err := c.Table.ClassesOf(key)
	if err != nil { // too many matches: the match stands for its class
		return names
	}
	for i := range classes {
		class := &classes[i]
		if class.Class.From != "" && !slices.Contains(names.clients, class.Class.From) {
			names.clients = append(names.clients, class.Class.From)
		}
		key := classKey(&class.Witness, class.Chosen)
		class.Class.From = ""
		if _, known := names.text[key]; !known {
			names.text[key] = class.Class.String()
		}
	}
	return names
}

func classKey(r *traffic.Request, chosen *traffic.Place) string {
	if chosen == nil {
		return fmt.Sprintf("%d %s none", r.Port, r.From)
	}
	return fmt.Sprintf("%d %s", r.Port, chosen)
}

// of names the class of a request.
func (n classNames) of(r *traffic.Request, chosen *traffic.Place) string {
	switch text := n.text[classKey(r, chosen)]; {
	case chosen == nil:
		return "requests that no rule matches"
	case text != "":
		return text
	}
	return chosen.String()
}

// hide returns theirs with the values of headers that ours does not set left out: what a proxy adds may be a
// secret.
func hide(theirs, ours *proxies.Answer) *proxies.Answer {
	known := ours.String()
	hidden := *theirs
	hidden.Headers = slices.Clone(theirs.Headers)
	for i, change := range hidden.Headers {
		hidden.Headers[i] = hideValue(change, known)
	}
	hidden.Backends = slices.Clone(theirs.Backends)
	for i, backend := range hidden.Backends {
		name, changes, ok := strings.Cut(backend, " [")
		if !ok {
			continue
		}
		end := strings.LastIndex(changes, "]")
		parts := strings.Split(changes[:end], ", ")
		for j := range parts {
			parts[j] = hideValue(parts[j], known)
		}
		hidden.Backends[i] = name + " [" + strings.Join(parts, ", ") + "]" + changes[end+1:]
	}
	return &hidden
}

func hideValue(change, known string) string {
	name, _, has := strings.Cut(change, "=")
	if !has && !strings.Contains(change, " remove ") {
		return "..." // the rest of a value with a comma
	}
	if !has || strings.Contains(known, change) {
		return change
	}
	return name + "=(hidden)"
}

// example returns the request, with the values of headers and query parameters that tell who one is left out unless gammaguard's side
// looks for them.
func example(r *traffic.Request, ours [][]mesh.Condition) traffic.Request {
	out := *r
	out.Headers, out.Query = maps.Clone(r.Headers), maps.Clone(r.Query)
	for dimension, values := range map[mesh.Dimension]map[string]string{mesh.HeaderDimension: out.Headers, mesh.QueryParamDimension: out.Query} {
		for name, value := range values {
			known := slices.ContainsFunc(ours, func(match []mesh.Condition) bool {
				return slices.ContainsFunc(match, func(c mesh.Condition) bool {
					return c.Dimension == dimension && c.Name == name && traffic.Example(c) == value
				})
			})
			if secret(name) && !known {
				values[name] = "(hidden)"
			}
		}
	}
	return out
}

// secret reports whether the value of a header or a query parameter may tell who one is.
func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "token", "secret", "key", "password", "session", "credential"}, func(word string) bool { return strings.Contains(name, word) })
}
