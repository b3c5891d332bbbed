package definitions

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// definition is what a CustomResourceDefinition says about its objects.
type definition struct {
	text       []byte // it in JSON; empty if it was not read from any
	namespaced bool
	versions   map[string]*version
}

// version is one version of a definition. What only validation needs is compiled
// when it is first asked for.
type version struct {
	served bool
	// status reports whether the status has a subresource of its own, so that a write
	// of the object leaves it as it is.
	status     bool
	structural *structuralschema.Structural
	schema     func() (validation.SchemaValidator, error)
	rules      func() *cel.Validator // nil if there are none
}

func newDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*definition, error) {
	d := &definition{
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		versions:   map[string]*version{},
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		built, err := newVersion(v)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s, version %s: %w", crd.Name, v.Name, err)
		}
		d.versions[v.Name] = built
	}
	return d, nil
}

func newVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) (*version, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("it has no schema")
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil); err != nil {
		return nil, err
	}
	if hasUnique(&props) {
		return nil, errors.New("uniqueItems cannot be true, as for the API server")
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	return &version{
		served:     v.Served,
		status:     v.Subresources != nil && v.Subresources.Status != nil,
		structural: structural,
		schema: sync.OnceValues(func() (validation.SchemaValidator, error) {
			validator, _, err := validation.NewSchemaValidator(&props)
			return validator, err
		}),
		rules: sync.OnceValue(func() *cel.Validator {
			return cel.NewValidator(structural, true, celconfig.PerCallLimit)
		}),
	}, nil
}

// hasUnique reports whether the schema compares all items of a list with each other. The API server takes no such
// definition.
func hasUnique(s *apiextensions.JSONSchemaProps) bool {
	inner := []*apiextensions.JSONSchemaProps{s.Not}
	if s.Items != nil {
		inner = append(inner, s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		inner = append(inner, s.AdditionalProperties.Schema)
	}
	for _, all := range [][]apiextensions.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range all {
			inner = append(inner, &all[i])
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		inner = append(inner, &property)
	}
	return s.UniqueItems || slices.ContainsFunc(inner, func(s *apiextensions.JSONSchemaProps) bool { return s != nil && hasUnique(s) })
}
