package kube

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/mesh"
)

// discoveryAge is for how long it counts what the API server serves.
const discoveryAge = 10 * time.Second

// discovery remembers for a while which groups and kinds the API server serves, so that
// no request can cause more reads than there are groups.
type discovery struct {
	client *client

	// turn is taken by who reads or writes what follows.
	turn    chan struct{}
	expires time.Time
	groups  []metav1.APIGroup
	kinds   map[string][]metav1.APIResource // by group, of its preferred version
}

// find returns the kind as the group's preferred version has it, and that version. The
// error is mesh.ErrNotServed where there is none.
func (d *discovery) find(ctx context.Context, group, kind string) (metav1.APIResource, string, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done(): // another request waits for an API server that does not answer
		return metav1.APIResource{}, "", ctx.Err()
	}
	if now := time.Now(); now.After(d.expires) {
		var list metav1.APIGroupList
		if _, err := d.client.document(ctx, &list, "apis"); err != nil {
			return metav1.APIResource{}, "", err
		}
		d.expires, d.groups, d.kinds = now.Add(discoveryAge), list.Groups, map[string][]metav1.APIResource{}
	}
	version := "v1" // of the core group
	if group != "" {
		i := slices.IndexFunc(d.groups, func(g metav1.APIGroup) bool { return g.Name == group })
		if i < 0 {
			return metav1.APIResource{}, "", mesh.ErrNotServed
		}
		version = d.groups[i].PreferredVersion.Version
	}
	kinds, known := d.kinds[group]
	if !known {
		var list metav1.APIResourceList
		if _, err := d.client.document(ctx, &list, resourcePath(group, version)...); err != nil {
			return metav1.APIResource{}, "", err
		}
		kinds = list.APIResources
		d.kinds[group] = kinds
	}
	i := slices.IndexFunc(kinds, func(r metav1.APIResource) bool { return r.Kind == kind })
	if i < 0 {
		return metav1.APIResource{}, "", mesh.ErrNotServed
	}
	return kinds[i], version, nil
}

func resourcePath(group, version string) []string {
	if group == "" {
		return []string{"api", version}
	}
	return []string{"apis", group, version}
}

// Object reports whether the object exists, as mesh.FindObject does. What may not or
// cannot be read is unknown, for the reason that the error has too.
func (r *Reader) Object(ctx context.Context, key mesh.ObjectKey) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return mesh.ErrUnknown
	}
	err := r.object(ctx, key)
	if err == nil || errors.Is(err, mesh.ErrNotFound) {
		r.observe("parent", err)
		return err
	}
	r.observe("parent", mesh.ErrUnknown)
	return errors.Join(mesh.ErrUnknown, err)
}

func (r *Reader) object(ctx context.Context, key mesh.ObjectKey) error {
	found, version, err := r.discovery.find(ctx, key.Group, key.Kind)
	if err != nil || key.Name == "" {
		return err
	}
	if !nameable(key.Name, key.Namespace) {
		return mesh.ErrNotFound
	}
	path := resourcePath(key.Group, version)
	if found.Namespaced {
		path = append(path, "namespaces", key.Namespace)
	}
	ok, err := r.client.document(ctx, &metav1.PartialObjectMetadata{}, append(path, found.Name, key.Name)...)
	if err == nil && !ok {
		err = mesh.ErrNotFound
	}
	return err
}
