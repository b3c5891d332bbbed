package runner

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// rivals returns the routes that are of one kind and on Services of one name. The
// API server keeps the second in which each was created, and no more.
func rivals(scenario *Scenario) map[manifest.Key]bool {
	on := map[string]map[manifest.Key]bool{}
	for _, document := range scenario.Documents() {
		var route struct {
			Spec gatewayv1.CommonRouteSpec `json:"spec"`
		}
		if !document.IsRoute() || json.Unmarshal(document.JSON, &route) != nil {
			continue
		}
		for _, ref := range route.Spec.ParentRefs {
			at := document.Key.Kind + " on " + string(ref.Name)
			if on[at] == nil {
				on[at] = map[manifest.Key]bool{}
			}
			on[at][document.Key] = true
		}
	}
	rivals := map[manifest.Key]bool{}
	for _, keys := range on {
		if len(keys) > 1 {
			maps.Copy(rivals, keys)
		}
	}
	return rivals
}

// grow waits until the document's route, if it is created now, is younger than all
// its rivals.
func (s *apiSession) grow(ctx context.Context, document *Document) error {
	if !s.rivals[document.Key] {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(s.youngest.Add(time.Second))):
	}
	s.youngest = time.Now().Truncate(time.Second)
	return nil
}
