package status

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/hostile"
)

// TestEventsOnlyShow: the note of an Event is a line that only shows.
func TestEventsOnlyShow(t *testing.T) {
	note := shorten(hostile.Text)
	if err := hostile.Check("text", note); err != nil || strings.ContainsAny(note, "\n\t") {
		t.Errorf("%v: %q", err, note)
	}
}

// TestResolvedIsTrueOfAll: the recorder counts an Event that says Resolved in the first one, so its note must be true of whatever
// is no longer reported of that Service, also where it is only the mode that has changed.
func TestResolvedIsTrueOfAll(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	handler := eventRecorder{recorder}
	for _, reason := range []string{desired.ConsumerRefused, desired.NamespaceNotGranted} {
		handler.recordTransition(kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "faces", Name: "cart"}, "v1", "", mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"},
			transition{before: desired.Condition{Type: desired.Accepted, Reason: reason}})
	}
	if one, other := <-recorder.Events, <-recorder.Events; one != other || !strings.HasSuffix(one, "a problem on Service shop/cart is no longer reported") {
		t.Errorf("%q and then %q", one, other)
	}
}
