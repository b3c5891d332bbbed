package runner

import (
	"context"

	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/test/bed"
)

// bedOptions are those of the control plane that scenarios are played on. Both
// mcs-api's definitions and the standard channel of the Gateway API are installed.
var bedOptions = bed.Options{MultiCluster: true}

// loadDefinitions reads the definitions that the test bed installs. In memory they
// fill in defaults, as the API server does before admission: an omitted group of a
// parentRef, above all.
func loadDefinitions(ctx context.Context) (*definitions.Set, error) {
	crds, err := bed.CustomResourceDefinitions(ctx, bedOptions)
	if err != nil {
		return nil, err
	}
	set := definitions.New()
	for _, crd := range crds {
		if err := set.Put(crd); err != nil {
			return nil, err
		}
	}
	return set, nil
}
