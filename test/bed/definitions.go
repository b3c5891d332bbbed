package bed

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// CustomResourceDefinitions returns the definitions that a control plane with the
// options has installed.
func CustomResourceDefinitions(ctx context.Context, o Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	install, err := customResources(ctx, root, o)
	if err != nil {
		return nil, err
	}
	install.ErrorIfPathMissing = true
	if err := envtest.ReadCRDFiles(&install); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinitions: %w", err)
	}
	return install.CRDs, nil
}
