package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/mesh"
)

// metadata is what is read of the metadata of objects that are no routes.
type metadata struct {
	Labels            map[string]string `json:"labels"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
}

// service is what is read of a Service or ServiceImport: both have these alike.
type service struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
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

// decodeService reads a Service, with the API's defaults filled in, or a
// ServiceImport (GEP-1748).
func decodeService(o *Object) (*mesh.Service, error) {
	var from service
	if err := json.UnmarshalCaseSensitivePreserveInts(o.JSON, &from); err != nil {
		return nil, fmt.Errorf("not a %s: %w", o.Key.Kind, err)
	}
	to := &mesh.Service{
		Key:            mesh.ServiceKey{Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name},
		Type:           mesh.ClusterIP,
		ConsumerRoutes: from.Metadata.Labels[mesh.ConsumerRoutesLabel],
		Ports:          make([]mesh.Port, len(from.Spec.Ports)),
	}
	if o.Key.Kind == mesh.ServiceImportKind {
		to.Headless = from.Spec.Type == "Headless"
	} else {
		to.Headless = from.Spec.ClusterIP == "None"
		to.Type = mesh.ServiceType(cmp.Or(from.Spec.Type, string(mesh.ClusterIP)))
	}
	for i, port := range from.Spec.Ports {
		to.Ports[i] = mesh.Port{
			Name:        port.Name,
			Number:      port.Port,
			Protocol:    mesh.Protocol(cmp.Or(port.Protocol, string(mesh.TCP))),
			AppProtocol: port.AppProtocol,
		}
	}
	return to, nil
}

func decodeNamespace(o *Object) (*mesh.Namespace, error) {
	var from struct {
		Metadata metadata `json:"metadata"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(o.JSON, &from); err != nil {
		return nil, fmt.Errorf("not a Namespace: %w", err)
	}
	labels := map[string]string{nameLabel: o.Key.Name}
	maps.Copy(labels, from.Metadata.Labels)
	return &mesh.Namespace{Name: o.Key.Name, Labels: labels}, nil
}

// nameLabel is what the API server gives to every namespace, for selectors.
const nameLabel = "kubernetes.io/metadata.name"

// serviceNameLabel says which Service an EndpointSlice is of.
const serviceNameLabel = "kubernetes.io/service-name"

// endpoints says of which Service an EndpointSlice is, if any, and whether it has
// an endpoint.
type endpoints struct {
	of  mesh.ServiceKey
	any bool
}

func decodeEndpointSlice(o *Object) (endpoints, error) {
	var from struct {
		Metadata  metadata   `json:"metadata"`
		Endpoints []struct{} `json:"endpoints"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(o.JSON, &from); err != nil {
		return endpoints{}, fmt.Errorf("not an EndpointSlice: %w", err)
	}
	slice := endpoints{any: len(from.Endpoints) > 0}
	if name := from.Metadata.Labels[serviceNameLabel]; name != "" {
		slice.of = mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: o.Key.Namespace, Name: name}
	}
	return slice, nil
}

func decodeReferenceGrant(o *Object) (mesh.ReferenceGrant, error) {
	var from struct {
		Spec mesh.ReferenceGrant `json:"spec"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(o.JSON, &from); err != nil {
		return mesh.ReferenceGrant{}, fmt.Errorf("not a ReferenceGrant: %w", err)
	}
	return from.Spec, nil
}
