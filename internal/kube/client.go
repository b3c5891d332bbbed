package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	return resource{kind.Group(), kind.Resource(), kind.Name()}
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
	case mesh.LinkerdGroup:
		return []string{"v1beta3", "v1beta2", "v1beta1", "v1alpha1"}
	case mesh.MulticlusterGroup:
		return []string{"v1", "v1beta1", "v1alpha1"}
	}
	return []string{"v1"}
}

// client reads narrow objects from the API server: lists and watches by
// client-go's REST client, single objects by plain HTTP (see get).
type client struct {
	rest *rest.RESTClient
	http *http.Client
	base *url.URL
	// agent is the User-Agent of plain requests.
	agent string
}

// userAgent names gammaguard in the API server's logs and metrics.
const userAgent = "gammaguard"

// newClient returns a client without a rate limit of its own: what bounds it is
// the number of watches, and of concurrent live reads.
func newClient(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	// Of what is read, client-go itself decodes only the API server's refusals.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.QPS, config.RateLimiter = -1, nil
	// A list is read once, from nearby: to compress it takes the API server longer
	// than to send it.
	config.DisableCompression = true
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
	return &client{restClient, single, base, config.UserAgent}, nil
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

// list calls each with every object of a list as it comes, as decodeList does, so
// that the list is never held whole, and returns the list's metadata. Where it fails, each may have
// been called.
func (c *client) list(ctx context.Context, r resource, version, namespace string, options *metav1.ListOptions, each func(jsontext.Value) error) (metav1.ListMeta, error) {
	if r == endpointSlices && options.LabelSelector == "" {
		options.LabelSelector = serviceNameLabel
	}
	req := c.request(r, version, namespace).SetHeader("Accept", r.accept("PartialObjectMetadataList"))
	body, err := req.SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.Unversioned).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer body.Close() //nolint:errcheck // it was read
	return decodeList(body, r, each)
}

// watch watches the resource, and calls ended when the API server has ended the watch in
// order.
func (c *client) watch(ctx context.Context, r resource, version string, options *metav1.ListOptions, decode decoder, ended func()) (watch.Interface, error) {
	options.Watch = true
	if r == endpointSlices {
		options.LabelSelector = serviceNameLabel
	}
	req := c.request(r, version, "").SetHeader("Accept", r.accept("PartialObjectMetadata"))
	body, err := req.SpecificallyVersionedParams(options, metav1.ParameterCodec, metav1.Unversioned).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(newEvents(body, r, decode, ended), apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}
