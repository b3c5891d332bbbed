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

// CustomResourceDefinitions returns the definitions that a control plane with the
// options has installed: those in the modules which the main module requires.
func CustomResourceDefinitions(ctx context.Context, o Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	// Listing a package of the module fetches the module if it is not in the cache.
	dir, err := goCommand(ctx, root, "list", "-f", "{{.Module.Dir}}", "sigs.k8s.io/gateway-api/apis/v1")
	if err != nil {
		return nil, err
	}
	channel := "standard"
	if o.Experimental {
		channel = "experimental"
	}
	install := envtest.CRDInstallOptions{Paths: []string{filepath.Join(dir, "config", "crd", channel)}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&install); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinitions of the Gateway API: %w", err)
	}
	definitions := install.CRDs
	if o.MultiCluster {
		for _, data := range [][]byte{mcscrd.ServiceImportCRD, mcscrd.ServiceExportCRD} {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(data, definition); err != nil {
				return nil, fmt.Errorf("read the CustomResourceDefinitions of mcs-api: %w", err)
			}
			definitions = append(definitions, definition)
		}
	}
	for _, definition := range definitions {
		for i := range definition.Spec.Versions {
			definition.Spec.Versions[i].Served = definition.Spec.Versions[i].Served || o.AllVersions
		}
	}
	return definitions, nil
}
