package definitions

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// definition is what a CustomResourceDefinition says about its objects.
type definition struct {
	versions map[string]*version
}

// version is one version of a definition.
type version struct {
	served     bool
	structural *structuralschema.Structural
}

func newDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*definition, error) {
	d := &definition{versions: map[string]*version{}}
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
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	return &version{served: v.Served, structural: structural}, nil
}
