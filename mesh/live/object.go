package live

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/mesh"
)

// The types in this file are what is decoded of objects from the API server.
// Fields that are not listed are passed over.

// objectMeta is what reflectors and all stores need of an object's metadata.
type objectMeta struct {
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

// meta returns the metadata in the form that reflectors ask for.
func (m *objectMeta) meta() *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: types.UID(m.UID), ResourceVersion: m.ResourceVersion,
	}
}

// serviceObject is a Service or ServiceImport of any version.
type serviceObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		objectMeta
		Labels struct {
			ConsumerRoutes string `json:"gammaguard.dev/consumer-routes"`
		} `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Type      string `json:"type"`
		ClusterIP string `json:"clusterIP"`
		Ports     []struct {
			Name        string `json:"name"`
			Port        int32  `json:"port"`
			Protocol    string `json:"protocol"`
			AppProtocol string `json:"appProtocol"`
		} `json:"ports"`
	} `json:"spec"`
}

// reduce returns what the core reads of the Service or ServiceImport.
func (o *serviceObject) reduce(kind string) *mesh.Service {
	service := &mesh.Service{
		Key:            mesh.ServiceKey{Kind: kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name},
		Type:           serviceType(kind, o.Spec.Type),
		Headless:       o.Spec.ClusterIP == "None" || kind == mesh.ServiceImportKind && o.Spec.Type == "Headless",
		Ports:          make([]mesh.Port, len(o.Spec.Ports)),
		ConsumerRoutes: o.Metadata.Labels.ConsumerRoutes,
	}
	for i, port := range o.Spec.Ports {
		service.Ports[i] = mesh.Port{
			Name: port.Name, Number: port.Port, Protocol: protocol(port.Protocol), AppProtocol: port.AppProtocol,
		}
	}
	return service
}

// serviceType returns one of the known constants where it can, so that Services
// share it.
func serviceType(kind, text string) mesh.ServiceType {
	if kind == mesh.ServiceImportKind {
		return mesh.ClusterIP
	}
	for _, known := range []mesh.ServiceType{mesh.ClusterIP, mesh.NodePort, mesh.LoadBalancer, mesh.ExternalName} {
		if text == string(known) {
			return known
		}
	}
	if text == "" {
		return mesh.ClusterIP
	}
	return mesh.ServiceType(text)
}

// protocol returns one of the known constants where it can. TCP is the default.
func protocol(text string) mesh.Protocol {
	for _, known := range []mesh.Protocol{mesh.TCP, mesh.UDP, mesh.SCTP} {
		if text == string(known) {
			return known
		}
	}
	if text == "" {
		return mesh.TCP
	}
	return mesh.Protocol(text)
}

// namespaceObject is a Namespace, or the metadata of one.
type namespaceObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		objectMeta
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func (o *namespaceObject) reduce() *mesh.Namespace {
	return &mesh.Namespace{Name: o.Metadata.Name, Labels: o.Metadata.Labels}
}

// endpointSliceObject is an EndpointSlice: whose it is, and how many endpoints.
type endpointSliceObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		objectMeta
		Labels struct {
			Service string `json:"kubernetes.io/service-name"`
		} `json:"labels"`
	} `json:"metadata"`
	Endpoints []struct{} `json:"endpoints"`
}

// endpointSlice is what is kept of an EndpointSlice: the Service for which it has
// an endpoint, or nothing.
type endpointSlice struct {
	name    objectName
	service string
}

func (o *endpointSliceObject) reduce() *endpointSlice {
	slice := &endpointSlice{name: objectName{o.Metadata.Namespace, o.Metadata.Name}}
	if len(o.Endpoints) > 0 {
		slice.service = o.Metadata.Labels.Service
	}
	return slice
}

// grantObject is a ReferenceGrant of any version.
type grantObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct{ objectMeta } `json:"metadata"`
	Spec            mesh.ReferenceGrant  `json:"spec"`
}

// referenceGrant is a ReferenceGrant and its name.
type referenceGrant struct {
	name  objectName
	grant mesh.ReferenceGrant
}

func (o *serviceObject) GetObjectMeta() metav1.Object       { return o.Metadata.meta() }
func (o *namespaceObject) GetObjectMeta() metav1.Object     { return o.Metadata.meta() }
func (o *endpointSliceObject) GetObjectMeta() metav1.Object { return o.Metadata.meta() }
func (o *grantObject) GetObjectMeta() metav1.Object         { return o.Metadata.meta() }

// Copies are shallow: what is decoded is never changed.

func (o *serviceObject) DeepCopyObject() runtime.Object       { c := *o; return &c }
func (o *namespaceObject) DeepCopyObject() runtime.Object     { c := *o; return &c }
func (o *endpointSliceObject) DeepCopyObject() runtime.Object { c := *o; return &c }
func (o *grantObject) DeepCopyObject() runtime.Object         { c := *o; return &c }
