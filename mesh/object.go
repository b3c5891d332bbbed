package mesh

import "cmp"

// The objects in this file are what is decoded, by Decode, of all kinds but
// routes, in any version. Each is reduced to the value that the core reads.

// TypeMeta is the kind of an object.
type TypeMeta struct {
	Kind string `json:"kind"`
}

// GetKind returns the kind.
func (t *TypeMeta) GetKind() string { return t.Kind }

// ObjectMeta is what is read of the metadata of every object.
type ObjectMeta struct {
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// ServiceObject is a Service or ServiceImport.
type ServiceObject struct {
	TypeMeta
	Metadata struct {
		ObjectMeta
		ServiceMetadata
	} `json:"metadata"`
	Spec struct {
		Service
		ClusterIP string `json:"clusterIP"`
	} `json:"spec"`
}

// Reduce returns the Service, or the ServiceImport, with the API's defaults.
func (o *ServiceObject) Reduce(kind string) *Service {
	service := o.Spec.Service
	service.Key = ServiceKey{Kind: kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
	service.ServiceMetadata = o.Metadata.ServiceMetadata
	service.Headless = o.Spec.ClusterIP == "None"
	if kind == ServiceImportKind {
		service.Headless = service.Type == "Headless"
		service.Type = ClusterIP
	}
	service.Type = cmp.Or(service.Type, ClusterIP)
	for i := range service.Ports {
		service.Ports[i].Protocol = cmp.Or(service.Ports[i].Protocol, TCP)
	}
	return &service
}

// NamespaceObject is a Namespace, or its metadata alone.
type NamespaceObject struct {
	TypeMeta
	Metadata struct {
		ObjectMeta
		Namespace
	} `json:"metadata"`
}

// namespaceNameLabel is the label that the API server gives to every namespace.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// Reduce returns the namespace, with the label that the API server gives it.
func (o *NamespaceObject) Reduce() *Namespace {
	namespace := o.Metadata.Namespace
	namespace.Name = o.Metadata.ObjectMeta.Name
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[namespaceNameLabel] = namespace.Name
	return &namespace
}

// EndpointSliceObject is an EndpointSlice: of which Service it is, and its
// endpoints, of which nothing is read.
type EndpointSliceObject struct {
	TypeMeta
	Metadata struct {
		ObjectMeta
		Labels struct {
			Service string `json:"kubernetes.io/service-name"`
		} `json:"labels"`
	} `json:"metadata"`
	Endpoints []struct{} `json:"endpoints"`
}

// Reduce returns the Service for which the EndpointSlice has an endpoint; the
// zero key where there is none.
func (o *EndpointSliceObject) Reduce() ServiceKey {
	if len(o.Endpoints) == 0 || o.Metadata.Labels.Service == "" {
		return ServiceKey{}
	}
	return ServiceKey{Kind: ServiceKind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Labels.Service}
}

// ReferenceGrantObject is a ReferenceGrant.
type ReferenceGrantObject struct {
	TypeMeta
	Metadata struct{ ObjectMeta } `json:"metadata"`
	Spec     ReferenceGrant       `json:"spec"`
}

// Reduce returns what is read of the ReferenceGrant.
func (o *ReferenceGrantObject) Reduce() ReferenceGrant {
	grant := o.Spec
	grant.Name = o.Metadata.Name
	return grant
}
