package install

import (
	"context"
	"errors"
	"testing"

	webhook "github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/compat"
)

// TestOlderGatewayAPI replaces the Gateway API by an older release while gammaguard runs:
// kinds and versions stop and start being served, and it follows. make compat tries all
// releases.
func TestOlderGatewayAPI(t *testing.T) {
	install(t, folder(t, "overlays/self-managed"))
	g, err := webhook.Start(t.Context(), plane, webhook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		newest := compat.Release{Version: compat.GatewayAPI[len(compat.GatewayAPI)-1], Channel: "standard"}
		_, err := newest.Install(context.WithoutCancel(t.Context()), plane) // for the other tests
		if err := errors.Join(err, g.Stop()); err != nil {
			t.Error(err)
		}
	})
	result, err := compat.Try(t.Context(), plane, g, compat.Release{Version: "v1.2.1", Channel: "experimental"})
	if err != nil {
		t.Fatalf("%v\nits log:\n%s", err, g.Log())
	}
	if len(result.Versions) != 5 || len(result.Refused) > 0 {
		t.Errorf("served are %v, refused is %v", result.Versions, result.Refused)
	}
}
