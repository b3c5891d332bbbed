package live

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
)

// resource is a kind of object that gammaguard reads.
type resource struct {
	group, name, kind string
}

// The resources beside the routes'.
var (
	serviceResource   = resource{"", "services", mesh.ServiceKind}
	namespaceResource = resource{"", "namespaces", "Namespace"}
	endpointSlices    = resource{"discovery.k8s.io", "endpointslices", "EndpointSlice"}
	serviceImports    = resource{mesh.MulticlusterGroup, "serviceimports", mesh.ServiceImportKind}
	referenceGrants   = resource{mesh.GatewayGroup, "referencegrants", "ReferenceGrant"}
)

func routeResource(kind mesh.RouteKind) resource {
	return resource{mesh.GatewayGroup, kind.Resource(), string(kind)}
}

// String reads "httproutes.gateway.networking.k8s.io".
func (r resource) String() string {
	return schema.GroupResource{Group: r.group, Resource: r.name}.String()
}

// versions are the versions in which a group's kinds may be served, the best
// first. All have alike what is read of them.
func versions(group string) []string {
	switch group {
	case mesh.GatewayGroup:
		return []string{"v1", "v1beta1", "v1alpha3", "v1alpha2"}
	case mesh.MulticlusterGroup:
		return []string{"v1", "v1beta1", "v1alpha1"}
	}
	return []string{"v1"}
}

// client reads narrow objects from the API server: whole lists and watches by
// client-go's REST client, single objects by plain HTTP (see get).
type client struct {
	rest *rest.RESTClient
	http *http.Client
	base *url.URL
}

// userAgent names gammaguard in the API server's logs and metrics.
const userAgent = "gammaguard"

// newClient returns a client without a rate limit of its own: what bounds it is
// the number of watches, and of concurrent live reads.
func newClient(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(narrowScheme()).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.QPS, config.RateLimiter = -1, nil
	if config.UserAgent == "" {
		config.UserAgent = userAgent
	}
	restClient, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	// Reads of single objects are short and few at a time: HTTP/2 would cost more
	// for each than it saves in connections.
	config.NextProtos = []string{"http/1.1"}
	single, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return &client{restClient, single, base}, nil
}

// narrowScheme maps the kinds to the narrow types.
func narrowScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	add := func(r resource, object, list runtime.Object) {
		for _, version := range versions(r.group) {
			gv := schema.GroupVersion{Group: r.group, Version: version}
			scheme.AddKnownTypeWithName(gv.WithKind(r.kind), object)
			scheme.AddKnownTypeWithName(gv.WithKind(r.kind+"List"), list)
		}
	}
	for _, kind := range mesh.RouteKinds() {
		add(routeResource(kind), &routeObject{}, &routeList{})
	}
	add(serviceResource, &serviceObject{}, &serviceList{})
	add(serviceImports, &serviceObject{}, &serviceList{})
	add(namespaceResource, &namespaceObject{}, &namespaceList{})
	add(resource{metav1.GroupName, "", "PartialObjectMetadata"}, &namespaceObject{}, &namespaceList{})
	add(endpointSlices, &endpointSliceObject{}, &endpointSliceList{})
	add(referenceGrants, &grantObject{}, &grantList{})
	return scheme
}

// request starts a GET of the resource in a version, of one namespace or all.
func (c *client) request(r resource, version, namespace string) *rest.Request {
	req := c.rest.Get().AbsPath("api", version)
	if r.group != "" {
		req.AbsPath("apis", r.group, version)
	}
	return req.NamespaceIfScoped(namespace, namespace != "").Resource(r.name)
}

// accept returns what to ask for: of a Namespace no more than its metadata.
func (r resource) accept(as string) string {
	if r != namespaceResource {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeJSON + ";as=" + as + ";g=" + metav1.GroupName + ";v=v1," + runtime.ContentTypeJSON
}

// serviceNameLabel names, on an EndpointSlice, the Service that it is of.
const serviceNameLabel = "kubernetes.io/service-name"

func (c *client) list(ctx context.Context, r resource, version, namespace string, options *metav1.ListOptions) (runtime.Object, error) {
	if r == endpointSlices && options.LabelSelector == "" {
		options.LabelSelector = serviceNameLabel
	}
	req := c.request(r, version, namespace).SetHeader("Accept", r.accept("PartialObjectMetadataList"))
	return req.SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.Unversioned).Do(ctx).Get()
}

func (c *client) watch(ctx context.Context, r resource, version string, options *metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	if r == endpointSlices {
		options.LabelSelector = serviceNameLabel
	}
	req := c.request(r, version, "").SetHeader("Accept", r.accept("PartialObjectMetadata"))
	return req.SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.Unversioned).Watch(ctx)
}
