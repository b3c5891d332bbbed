package selfmanaged

import (
	"net/http"
	"path"

	"k8s.io/client-go/rest"
)

// byName asks for lists and watches of single objects only. The rotator watches
// all Secrets of a namespace and all registrations of the cluster, for want of a
// selector; with one, RBAC can allow it the objects that it is about, by name.
type byName struct {
	next http.RoundTripper
	// names are the objects' names by resource.
	names map[string]string
}

// confine returns a configuration whose lists and watches of these resources are
// of the objects of these names.
func confine(config *rest.Config, names map[string]string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &byName{next, names} })
	return config
}

// RoundTrip implements http.RoundTripper.
func (b *byName) RoundTrip(request *http.Request) (*http.Response, error) {
	name := b.names[path.Base(request.URL.Path)]
	if name == "" || request.Method != http.MethodGet {
		return b.next.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	query := request.URL.Query()
	query.Set("fieldSelector", "metadata.name="+name)
	request.URL.RawQuery = query.Encode()
	return b.next.RoundTrip(request)
}
