package status

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// The reasons and actions of Events on routes, in addition to the reasons of conditions.
const (
	// resolvedReason: a parentRef no longer has a problem.
	resolvedReason = "Resolved"
	// partialReason: a parentRef has lost some of its ports.
	partialReason = "PartiallyConflicted"
	// fullReason: status.parents has no room for an entry of gammaguard.
	fullReason = "StatusFull"
	// contestedReason: another writer undoes an entry of gammaguard again and again.
	contestedReason = "StatusContested"
	// The actions that gammaguard took.
	markAction, clearAction, skipAction, pauseAction = "Mark", "Clear", "Skip", "Pause"
)

// maxNote is how long an Event's note may be, in bytes (events.k8s.io/v1).
const maxNote = 1024

// eventRecorder records Events on routes. The recorder merges those of one reason, whatever their notes, and keeps the first
// note. So none has advice, which may be wrong by then, and one that something is resolved does not say what.
type eventRecorder struct{ recorder events.EventRecorder }

// recordTransition records an entry that was added, removed, or got another reason.
func (h *eventRecorder) recordTransition(key kube.RouteKey, version, uid string, service mesh.ServiceKey, t transition) {
	route, parent := routeReference(key, version, uid), serviceReference(service)
	if t.after.Type == "" {
		h.recorder.Eventf(route, parent, corev1.EventTypeNormal, resolvedReason, clearAction, "%s",
			shorten("a problem on "+service.String()+" is no longer reported")) // or the mode of the namespace has changed
		return
	}
	h.recorder.Eventf(route, parent, corev1.EventTypeWarning, reasonOf(&t.after), markAction, "%s",
		shorten(t.problem+"; the status of the route says how to fix it"))
}

// recordFull records that status.parents of a route has no room for an entry.
func (h *eventRecorder) recordFull(key kube.RouteKey, version, uid string, service mesh.ServiceKey) {
	h.recorder.Eventf(routeReference(key, version, uid), nil, corev1.EventTypeWarning, fullReason, skipAction, "%s",
		shorten("status.parents has the maximum of 32 entries, so the problem with this route on "+service.String()+" is not reported there; gammaguard describe reports it"))
}

// recordContested records that another writer undoes the entries of a route.
func (h *eventRecorder) recordContested(key kube.RouteKey, version, uid string, service mesh.ServiceKey) {
	h.recorder.Eventf(routeReference(key, version, uid), serviceReference(service), corev1.EventTypeWarning, contestedReason, pauseAction, "%s",
		shorten("another controller keeps changing gammaguard's entry in status.parents about "+service.String()+", so gammaguard writes it less often; metadata.managedFields of the route names that controller"))
}

func reasonOf(c *desired.Condition) string {
	if c.Type == desired.PartiallyConflicted {
		return partialReason
	}
	return c.Reason
}

// routeReference leaves the resourceVersion out, so that Events that repeat are
// merged.
func routeReference(key kube.RouteKey, version, uid string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: mesh.GatewayGroup + "/" + version, Kind: string(key.Kind),
		Namespace: key.Namespace, Name: key.Name, UID: types.UID(uid),
	}
}

func serviceReference(key mesh.ServiceKey) *corev1.ObjectReference {
	reference := &corev1.ObjectReference{APIVersion: "v1", Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	if key.Kind == mesh.ServiceImportKind {
		reference.APIVersion = mesh.MulticlusterGroup + "/v1alpha1"
	}
	return reference
}

// shorten makes a line of a note that only shows, and cuts it to what an Event may hold.
func shorten(note string) string {
	note = printable.Text(note)
	if len(note) <= maxNote {
		return note
	}
	const more = "..."
	end := maxNote - len(more)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + more
}
