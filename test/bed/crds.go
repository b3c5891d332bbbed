package bed

import (
	"context"
	"fmt"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"
)

// customResources returns the CustomResourceDefinitions to install: those that
// come with the modules which the main module requires.
func customResources(ctx context.Context, root string, o Options) (envtest.CRDInstallOptions, error) {
	dir, err := moduleDir(ctx, root, "sigs.k8s.io/gateway-api")
	if err != nil {
		return envtest.CRDInstallOptions{}, err
	}
	channel := "standard"
	if o.Experimental {
		channel = "experimental"
	}
	install := envtest.CRDInstallOptions{
		Paths:   []string{filepath.Join(dir, "config", "crd", channel)},
		MaxTime: startTimeout,
	}
	if !o.MultiCluster {
		return install, nil
	}
	for _, data := range [][]byte{mcscrd.ServiceImportCRD, mcscrd.ServiceExportCRD} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return install, fmt.Errorf("read the CustomResourceDefinitions of mcs-api: %w", err)
		}
		install.CRDs = append(install.CRDs, crd)
	}
	return install, nil
}
