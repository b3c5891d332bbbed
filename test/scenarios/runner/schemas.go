package runner

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/test/bed"
)

// bedOptions are those of the control plane that scenarios are played on. Both
// mcs-api's definitions and the standard channel of the Gateway API are installed.
var bedOptions = bed.Options{MultiCluster: true}

// schemas are those of the custom resources, by group, kind and version. In memory
// they fill in defaults, as the API server does before admission: an omitted
// group of a parentRef, above all.
type schemas struct {
	structural map[schemaKey]*schema.Structural
}

type schemaKey struct{ group, kind, version string }

// loadSchemas reads the definitions that the test bed installs.
func loadSchemas(ctx context.Context) (*schemas, error) {
	definitions, err := bed.CustomResourceDefinitions(ctx, bedOptions)
	if err != nil {
		return nil, err
	}
	s := &schemas{structural: map[schemaKey]*schema.Structural{}}
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			if version.Schema == nil {
				continue
			}
			var props apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
				return nil, fmt.Errorf("schema of %s %s: %w", definition.Name, version.Name, err)
			}
			structural, err := schema.NewStructural(&props)
			if err != nil {
				return nil, fmt.Errorf("schema of %s %s: %w", definition.Name, version.Name, err)
			}
			s.structural[schemaKey{definition.Spec.Group, definition.Spec.Names.Kind, version.Name}] = structural
		}
	}
	return s, nil
}

// setDefaults fills in the defaults of a custom resource.
func (s *schemas) setDefaults(key manifest.Key, version string, object map[string]any) {
	if structural := s.structural[schemaKey{key.Group, key.Kind, version}]; structural != nil {
		defaulting.Default(object, structural)
	}
}
