// Package cluster shows the commands of gammaguard a live cluster. It only reads, or makes
// dry runs, except for ClearStatus.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Cluster is a live cluster. It reads each object once and keeps what it found; it
// is for one goroutine. What the user may not read is mesh.ErrUnknown, and Unseen.
type Cluster struct {
	// Current is the namespace of the flags, or of the kubeconfig's context.
	Current string

	ctx     context.Context // of the command: mesh.Reader has none
	reader  *kube.Reader
	objects dynamic.Interface
	// metadata is for objects whose content is not to be read.
	metadata metadata.Interface
	mapper   meta.RESTMapper
	// discovery is for what is served.
	discovery discovery.DiscoveryInterface
	kept      map[any]any // answers by question
	unseen    map[string]bool
	// unlisted are the kinds of routes that may not be listed, by namespace.
	unlisted map[string][]string
}

var _ check.Cluster = (*Cluster)(nil)

// cacheKey asks for one object, or what there is of its kind, by its key.
type cacheKey[K comparable, T any] struct{ key K }

// answer is what the cluster said.
type answer[T any] struct {
	value T
	err   error
}

// Connect returns the cluster that the getter's flags and kubeconfig name. It does
// not talk to it yet.
func Connect(ctx context.Context, getter genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	reader, err := kube.NewReader(config, nil)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200 // a write for each of many routes
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadata, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	current, _, err := getter.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	groups, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Current: current, ctx: ctx, reader: reader, objects: client, metadata: metadata, mapper: mapper, discovery: groups,
		kept: map[any]any{}, unseen: map[string]bool{}, unlisted: map[string][]string{},
	}, nil
}

// forbidden is mesh.ErrUnknown, in words for the user.
type forbidden string

func (f forbidden) Error() string { return string(f) }
func (forbidden) Unwrap() error   { return mesh.ErrUnknown }

// cached asks for what is not kept yet. What describes the key to the user who may not
// read it, as fmt.Sprintf does.
func cached[K comparable, T any](c *Cluster, what string, key K, read func(context.Context, K) (T, error)) (T, error) {
	a, known := c.kept[cacheKey[K, T]{key}].(answer[T])
	if !known {
		a.value, a.err = read(c.ctx, key)
		if apierrors.IsForbidden(a.err) {
			a.err = forbidden("you cannot read it")
			if at, ok := any(key).(routesOf); ok {
				c.unlisted[at.namespace] = append(c.unlisted[at.namespace], string(at.kind))
			} else {
				c.unseen[fmt.Sprintf(what, key)] = true
			}
		}
		c.kept[cacheKey[K, T]{key}] = a
	}
	return a.value, a.err
}

// store keeps an answer that is known without asking.
func (c *Cluster) store(read mesh.Read, known mesh.Answer) {
	c.kept[cacheKey[mesh.Read, mesh.Answer]{read}] = answer[mesh.Answer]{value: known}
}

// Unseen lists what was asked for and the user may not read, such as "Service shop/cart"
// or "routes across all namespaces (HTTPRoute)".
func (c *Cluster) Unseen() []string {
	unseen := slices.Collect(maps.Keys(c.unseen))
	for namespace, kinds := range c.unlisted {
		where := "across all namespaces"
		if namespace != "" {
			where = "in namespace " + namespace
		}
		unseen = append(unseen, "routes "+where+" ("+strings.Join(kinds, ", ")+")")
	}
	slices.Sort(unseen)
	return unseen
}

// Do implements mesh.Reader.
func (c *Cluster) Do(read mesh.Read) mesh.Answer {
	answer, err := cached(c, "%s", read, func(ctx context.Context, read mesh.Read) (mesh.Answer, error) {
		answer := c.reader.Do(ctx, read)
		return answer, answer.Err
	})
	answer.Err = err // in words for the user
	return answer
}

// Definition returns the CustomResourceDefinition of that name, in JSON.
func (c *Cluster) Definition(_ context.Context, name string) ([]byte, error) {
	return cached(c, "%s", definitionName(name), func(ctx context.Context, name definitionName) ([]byte, error) {
		return inJSON(c.objects.Resource(definitionResource).Get(ctx, string(name), metav1.GetOptions{}))
	})
}

// Object returns the object as it is stored, in JSON.
func (c *Cluster) Object(_ context.Context, key manifest.Key) ([]byte, error) {
	return cached(c, "%s", key, func(ctx context.Context, key manifest.Key) ([]byte, error) {
		if key.Name == "" || len(content.IsPathSegmentName(key.Name))+len(content.IsPathSegmentName(key.Namespace)) > 0 {
			return nil, mesh.ErrNotFound // no API server stores it
		}
		mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: key.Group, Kind: key.Kind})
		if meta.IsNoMatchError(err) {
			return nil, mesh.ErrNotServed
		}
		if err != nil {
			return nil, err
		}
		return inJSON(c.objects.Resource(mapping.Resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}))
	})
}

// inJSON returns an object that was read, in JSON.
func inJSON(object json.Marshaler, err error) ([]byte, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, mesh.ErrNotFound
	case err != nil:
		return nil, err
	}
	return object.MarshalJSON()
}

// definitionName is the name of a CustomResourceDefinition of routes.
type definitionName string

// String names all of them, and what package check has in their place: who may not read one may read none.
func (definitionName) String() string {
	return "CustomResourceDefinitions of routes (the standard channel is assumed)"
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Services returns the Services of the namespace.
func (c *Cluster) Services(namespace string) ([]*mesh.Service, error) {
	return c.reader.Services(c.ctx, namespace)
}

// Preload reads what routes in the namespace, or in all if it is empty, may refer to, by
// lists in place of one read for each object: namespaces, Services, and which of these have
// endpoints if that is asked for. What may not be listed is read one by one.
func (c *Cluster) Preload(namespace string, endpoints bool) error {
	if namespace == "" {
		namespaces, err := c.reader.Namespaces(c.ctx)
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
		for _, namespace := range namespaces {
			c.store(mesh.Read{Kind: mesh.ReadNamespace, Namespace: namespace.Name}, mesh.Answer{Namespace: namespace})
		}
	}
	services, err := c.reader.Services(c.ctx, namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	for _, service := range services {
		c.store(mesh.Read{Kind: mesh.ReadService, Service: service.Key}, mesh.Answer{Service: service})
	}
	if !endpoints {
		return nil
	}
	filled, err := c.reader.WithEndpoints(c.ctx, namespace)
	if apierrors.IsForbidden(err) {
		return nil
	}
	for _, service := range services {
		c.store(mesh.Read{Kind: mesh.ReadEndpoints, Service: service.Key}, mesh.Answer{HasEndpoints: filled[service.Key]})
	}
	return err
}
