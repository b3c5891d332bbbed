package runner

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceProfile is a definition of Linkerd's ServiceProfile, of which only the name counts.
var serviceProfile = &apiextensionsv1.CustomResourceDefinition{
	ObjectMeta: metav1.ObjectMeta{Name: "serviceprofiles.linkerd.io"},
	Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "linkerd.io", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{
			Kind: "ServiceProfile", ListKind: "ServiceProfileList", Plural: "serviceprofiles", Singular: "serviceprofile",
		},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1alpha2", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		}},
	},
}
