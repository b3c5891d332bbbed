package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Routes returns the routes of all kinds that the cluster serves, of all namespaces:
// consumer routes on a Service can be anywhere. Of a kind that the user may list only in
// some namespaces, it returns those in the given ones; without these, or with the empty name, those in the
// namespaces that the user may list, or in the current one. The error is mesh.ErrUnknown
// if nothing could be listed.
func (c *Cluster) Routes(namespaces ...string) ([]*manifest.Object, error) {
	where := "namespace " + strings.Join(namespaces, ", ") + ";"
	all := len(namespaces) == 0 || slices.Contains(namespaces, "")
	if all {
		where = "all namespaces; specify one that you can read with -n, or"
	}
	return c.gather(where, func(kind mesh.RouteKind) (routes []*manifest.Object, seen bool, err error) {
		routes, seen, err = c.routesIn(kind, "")
		if seen || err != nil {
			return routes, seen, err
		}
		in := slices.Clone(namespaces)
		if all {
			visible, err := c.Namespaces("")
			if err != nil {
				return nil, false, err
			}
			for _, namespace := range visible {
				in = append(in, namespace.Name)
			}
			if len(visible) == 0 { // it may list routes there all the same
				in = append(in, c.Current)
			}
		}
		slices.Sort(in)
		return c.routesIn(kind, slices.Compact(in)...)
	})
}

// RoutesIn returns the routes of one namespace as Routes does.
func (c *Cluster) RoutesIn(namespace string) ([]*manifest.Object, error) {
	return c.gather("namespace "+namespace+";", func(kind mesh.RouteKind) ([]*manifest.Object, bool, error) { return c.routesIn(kind, namespace) })
}

// Unlisted returns the kinds of which the routes in the namespace could not be listed, as far as they were
// asked for.
func (c *Cluster) Unlisted(namespace string) []mesh.RouteKind {
	return slices.DeleteFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool { return !slices.Contains(c.unlisted[namespace], string(kind)) })
}

// gather returns the routes of every kind. Where says which are asked for, up to what else may help.
func (c *Cluster) gather(where string, list func(mesh.RouteKind) (routes []*manifest.Object, seen bool, err error)) ([]*manifest.Object, error) {
	var all []*manifest.Object
	seenAny := false
	for _, kind := range mesh.GuardedKinds() {
		routes, seen, err := list(kind)
		if err != nil {
			return nil, err
		}
		// Where Linkerd's own kind is not served, there is none, and that is no sight of routes.
		all, seenAny = append(all, routes...), seenAny || seen && !kind.GrantOnly() || len(routes) > 0
	}
	if !seenAny {
		return nil, forbidden("you cannot list routes in " + where + " ask for the ClusterRole gammaguard-viewer")
	}
	return all, nil
}

// RereadRoutes has routes read again when they are asked for next.
func (c *Cluster) RereadRoutes() {
	maps.DeleteFunc(c.kept, func(key, _ any) bool {
		_, is := key.(cacheKey[routesOf, []*manifest.Object])
		return is
	})
	clear(c.unlisted)
}

// routesOf are the routes of a kind in a namespace, or in all if it is empty.
type routesOf struct {
	kind      mesh.RouteKind
	namespace string
}

// routesIn returns the routes of the kind in the namespaces that the user may list; seen
// is false if there is no such namespace.
func (c *Cluster) routesIn(kind mesh.RouteKind, namespaces ...string) (routes []*manifest.Object, seen bool, err error) {
	for _, namespace := range namespaces {
		found, err := cached(c, "%s", routesOf{kind, namespace}, c.list)
		if errors.Is(err, mesh.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		routes, seen = append(routes, found...), true
	}
	return routes, seen, nil
}

// list reads routes. One that cannot be read is among what the user does not see.
func (c *Cluster) list(ctx context.Context, of routesOf) ([]*manifest.Object, error) {
	var routes []*manifest.Object
	err := c.reader.Routes(ctx, of.kind, of.namespace, func(text jsontext.Value) error {
		route, err := stored(of.kind, text)
		if err != nil {
			c.unseen[fmt.Sprintf("%s: %v", route.Key, err)] = true
			return nil
		}
		routes = append(routes, route)
		return nil
	})
	return routes, err
}

// stored reads a stored route. With an error it still has its key, if that can be read.
func stored(kind mesh.RouteKind, text jsontext.Value) (*manifest.Object, error) {
	var key struct {
		APIVersion string          `json:"apiVersion"`
		Metadata   mesh.ObjectMeta `json:"metadata"`
	}
	err := mesh.Decode(text, &key)
	object := &manifest.Object{
		Origin: manifest.Origin{File: "the cluster"},
		Key:    manifest.Key{Group: kind.Group(), Kind: kind.Name(), Namespace: key.Metadata.Namespace, Name: key.Metadata.Name},
		JSON:   bytes.Clone(text),
	}
	_, object.Version, _ = strings.Cut(key.APIVersion, "/")
	if err == nil {
		object.Route, err = mesh.DecodeRoute(text)
	}
	return object, err
}
