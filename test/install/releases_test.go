package install

import (
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
	defer func() {
		newest := compat.Release{Version: compat.GatewayAPI[len(compat.GatewayAPI)-1], Channel: "standard"}
		newest.Install(t, plane) // for the other tests
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	}()
	result := compat.Try(t, plane, g, compat.Release{Version: "v1.2.1", Channel: "experimental"})
	if len(result.Versions) != 5 || len(result.Refused) > 0 {
		t.Errorf("served are %v, refused is %v", result.Versions, result.Refused)
	}
	if t.Failed() {
		t.Logf("its log:\n%s", g.Log())
	}
}
