package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// foreign is an entry of another controller, in bytes that no encoder would write.
const foreign = `{ "controllerName":"example.org/c" , "parentRef":{"name":"g","unknown":1.0},"conditions":[{"type":"Accepted","message":"\u003c<>&"}]}`

// ours is an entry of ours.
func ours(ref, kind, status, reason, message, since string) string {
	return `{"parentRef":` + ref + `,"controllerName":"gammaguard.dev/guard","conditions":[{"type":"` + kind + `","status":"` + status +
		`","observedGeneration":4,"lastTransitionTime":"` + since + `","reason":"` + reason + `","message":"` + message + `"}]}`
}

// takenEntry is an entry of ours in which another controller wrote its conditions.
var takenEntry = ours(cart80, "Accepted", "True", "Accepted", "", earlier)

const (
	cart80  = `{"group":"","kind":"Service","name":"cart","port":80}`
	cart90  = `{"kind":"Service","group":"","port":90,"name":"cart"}`
	other   = `{"group":"","kind":"Service","name":"other"}`
	gateway = `{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"front"}`
	earlier = "2026-01-02T03:04:05Z"
	now     = "2026-05-06T07:08:09Z"
	ourName = desired.ControllerName
)

var cartPart = ourPart{mesh.ServiceKey{Kind: "Service", Namespace: "shop", Name: "cart"}, "shop", nil}

func routeJSON(parents ...string) []byte {
	return []byte(`{"kind":"HTTPRoute","metadata":{"uid":"u","resourceVersion":"12","generation":4},
		"spec":{"parentRefs":[` + cart80 + `,` + gateway + `,` + cart90 + `],"rules":[{"matches":1}]},"status":{"parents":[` + strings.Join(parents, ",") + `]}}`)
}

func entry(ref int, kind, status, reason, message string) desired.Entry {
	return desired.Entry{Ref: ref, Condition: desired.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 4}}
}

func TestMerge(t *testing.T) {
	lost80 := entry(0, "Accepted", "False", "Conflicted", "lost")
	lost90 := entry(2, "Accepted", "False", "Conflicted", "lost")
	stored80 := ours(cart80, "Accepted", "False", "Conflicted", "lost", earlier)
	stored90 := ours(cart90, "Accepted", "False", "Conflicted", "lost", earlier)
	storedOther := ours(other, "Accepted", "False", "Conflicted", "lost", earlier)
	tests := map[string]struct {
		stored      []string
		entries     []desired.Entry
		want        []string // nil: nothing is to be written
		transitions []string
		full        bool
	}{
		"nothing, and nothing wrong":   {},
		"others only":                  {stored: []string{foreign}},
		"the first entry":              {entries: []desired.Entry{lost80}, want: []string{ours(cart80, "Accepted", "False", "Conflicted", "lost", now)}, transitions: []string{" -> Conflicted"}},
		"as it should be":              {stored: []string{foreign, stored80}, entries: []desired.Entry{lost80}},
		"in another order":             {stored: []string{stored90, stored80}, entries: []desired.Entry{lost80, lost90}},
		"parentRef as in the spec":     {stored: []string{foreign}, entries: []desired.Entry{lost90}, want: []string{foreign, ours(cart90, "Accepted", "False", "Conflicted", "lost", now)}, transitions: []string{" -> Conflicted"}},
		"nothing wrong any more":       {stored: []string{stored80, foreign, stored90}, entries: []desired.Entry{lost90}, want: []string{foreign, stored90}, transitions: []string{"Conflicted -> "}},
		"another Service's stays":      {stored: []string{storedOther, stored80}, want: []string{storedOther}, transitions: []string{"Conflicted -> "}},
		"about what is no mesh parent": {stored: []string{ours(gateway, "Accepted", "False", "X", "lost", earlier), foreign}, want: []string{foreign}, transitions: []string{"X -> "}},
		"written twice":                {stored: []string{stored80, stored80, foreign}, entries: []desired.Entry{lost80}, want: []string{stored80, foreign}, transitions: []string{"Conflicted -> "}},
		"another message: the time stays, nobody is told": {
			stored: []string{stored80, foreign}, entries: []desired.Entry{entry(0, "Accepted", "False", "Conflicted", "lost to another")},
			want: []string{ours(cart80, "Accepted", "False", "Conflicted", "lost to another", earlier), foreign},
		},
		"another reason: the time stays": {
			stored: []string{stored80}, entries: []desired.Entry{entry(0, "Accepted", "False", "NoMatchingParent", "gone")},
			want: []string{ours(cart80, "Accepted", "False", "NoMatchingParent", "gone", earlier)}, transitions: []string{"Conflicted -> NoMatchingParent"},
		},
		"another condition: the time moves": {
			stored: []string{stored80}, entries: []desired.Entry{entry(0, desired.PartiallyConflicted, "True", "Conflicted", "some")},
			want: []string{ours(cart80, desired.PartiallyConflicted, "True", "Conflicted", "some", now)}, transitions: []string{"Conflicted -> PartiallyConflicted"},
		},
		"a condition that is not ours to have": {
			stored:  []string{`{"parentRef":` + cart80 + `,"controllerName":"gammaguard.dev/guard","conditions":[]}`},
			entries: []desired.Entry{lost80}, want: []string{ours(cart80, "Accepted", "False", "Conflicted", "lost", now)}, transitions: []string{" -> Conflicted"},
		},
		"ours, with a time that cannot be read": {
			stored:  []string{ours(cart80, "Accepted", "False", "Conflicted", "lost", "2020-01-01t00:00:00z"), foreign},
			entries: []desired.Entry{lost80}, want: []string{ours(cart80, "Accepted", "False", "Conflicted", "lost", now), foreign}, transitions: []string{" -> Conflicted"},
		},
		"ours, not wanted and with a time that cannot be read": {
			stored: []string{ours(cart90, "Accepted", "False", "Conflicted", "lost", "2020-01-01t00:00:00z"), foreign},
			want:   []string{foreign}, transitions: []string{" -> "},
		},
		"taken by another controller: ours comes last": {
			stored:  []string{takenEntry, foreign},
			entries: []desired.Entry{lost80}, want: []string{foreign, ours(cart80, "Accepted", "False", "Conflicted", "lost", now)}, transitions: []string{" -> Conflicted"},
		},
		"taken by another controller, and not wanted": {stored: []string{foreign, takenEntry}, want: []string{foreign}},
		"room for one": {
			stored: foreigners(31), entries: []desired.Entry{lost80, lost90}, full: true,
			want: append(foreigners(31), ours(cart80, "Accepted", "False", "Conflicted", "lost", now)), transitions: []string{" -> Conflicted"},
		},
		"no room":                  {stored: foreigners(32), entries: []desired.Entry{lost80}, full: true},
		"no room, and none needed": {stored: append(foreigners(31), stored80), entries: []desired.Entry{lost80}},
		"room that we take ourselves": {
			stored: append(foreigners(31), stored80), entries: []desired.Entry{lost90},
			want: append(foreigners(31), ours(cart90, "Accepted", "False", "Conflicted", "lost", now)), transitions: []string{"Conflicted -> ", " -> Conflicted"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc, err := decodeDocument(routeJSON(test.stored...), ourName, nil)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, now)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := doc.merge(ourName, cartPart, test.entries, metav1.NewTime(at.UTC()))
			if err != nil {
				t.Fatal(err)
			}
			if merged.changed != (test.want != nil) {
				t.Errorf("changed: %t", merged.changed)
			}
			want := test.want
			if want == nil {
				want = test.stored
			}
			if diff := cmp.Diff(strings.Join(want, "\n"), join(merged.parents)); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
			var transitions []string
			for _, tr := range merged.transitions {
				transitions = append(transitions, reasonOf(&tr.before)+" -> "+reasonOf(&tr.after))
			}
			if diff := cmp.Diff(test.transitions, transitions); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
			sameOnceWritten(t, merged, test.entries, test.full)
		})
	}
}

// sameOnceWritten checks that what was merged is converged in the eyes of the cache,
// and needs no second write: the two comparisons agree.
func sameOnceWritten(t *testing.T, merged *merged, entries []desired.Entry, full bool) {
	t.Helper()
	var texts []string
	for _, parent := range merged.parents {
		texts = append(texts, string(parent))
	}
	doc, err := decodeDocument(routeJSON(texts...), ourName, nil)
	if err != nil {
		t.Fatal(err)
	}
	route := &kube.Route{AttachedRoute: *doc.route(kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "r"}, nil)}
	for _, own := range doc.own {
		if own == nil {
			route.ForeignEntries++
		} else {
			route.Entries = append(route.Entries, *own)
		}
	}
	if same, isFull := converged(route, cartPart, entries); !same || isFull != full {
		t.Errorf("once written, the cache sees converged: %t, full: %t", same, isFull)
	}
	again, err := doc.merge(ourName, cartPart, entries, metav1.Now())
	if err != nil || again.changed {
		t.Errorf("a second merge changes something: %t, %v", again.changed, err)
	}
}

// TestTakenWithoutAnswer: an entry of ours is taken where its parentRef is still in the spec,
// and no other controller has one for it. The document and the cache agree.
func TestTakenWithoutAnswer(t *testing.T) {
	answer := `{"controllerName":"example.org/c","parentRef":` + cart80 + `}`
	for name, test := range map[string]struct {
		stored []string
		want   bool
	}{
		"taken":                    {[]string{foreign, takenEntry}, true},
		"as it should be":          {[]string{ours(cart80, "Accepted", "False", "Conflicted", "lost", earlier)}, false},
		"answered":                 {[]string{takenEntry, answer}, false},
		"another Service's":        {[]string{ours(other, "Accepted", "True", "Accepted", "", earlier)}, false},
		"no longer in the spec":    {[]string{ours(`{"group":"","kind":"Service","name":"cart","port":70}`, "Accepted", "True", "Accepted", "", earlier)}, false},
		"answered for another ref": {[]string{takenEntry, `{"controllerName":"example.org/c","parentRef":` + cart90 + `}`}, true},
		"answered unreadably":      {[]string{takenEntry, `{"controllerName":"example.org/c","parentRef":1}`}, true},
	} {
		doc, err := decodeDocument(routeJSON(test.stored...), ourName, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, own := range doc.own {
			got = got || own != nil && cartPart.taken(own, doc.refs, doc.answered)
		}
		if got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func foreigners(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = foreign
	}
	return all
}

func join(parents []json.RawMessage) string {
	texts := make([]string, len(parents))
	for i, parent := range parents {
		texts[i] = string(parent)
	}
	return strings.Join(texts, "\n")
}

func TestUnsettled(t *testing.T) {
	doc, err := decodeDocument(routeJSON(ours(cart80, "Accepted", "False", "Conflicted", "lost", earlier)), ourName, nil)
	if err != nil {
		t.Fatal(err)
	}
	route := &kube.Route{
		AttachedRoute: *doc.route(kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "r"}, nil),
		Entries:       []kube.Entry{*doc.own[0]},
	}
	next := entry(0, "Accepted", "False", "Conflicted", "lost")
	next.Condition.ObservedGeneration = 5
	tests := map[string][]desired.Entry{
		"none wanted":     nil,
		"another ref":     {entry(2, "Accepted", "False", "Conflicted", "lost")},
		"one more":        {entry(0, "Accepted", "False", "Conflicted", "lost"), entry(2, "Accepted", "False", "Conflicted", "lost")},
		"another reason":  {entry(0, "Accepted", "False", "NoMatchingParent", "lost")},
		"another message": {entry(0, "Accepted", "False", "Conflicted", "won")},
		"generation":      {next},
	}
	for name, entries := range tests {
		if same, full := converged(route, cartPart, entries); same || full {
			t.Errorf("%s: converged: %t, full: %t, want neither", name, same, full)
		}
	}
}

func TestPatch(t *testing.T) {
	doc, err := decodeDocument(routeJSON(foreign), ourName, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		parents []json.RawMessage
		want    string
	}{
		"bytes are kept": {
			parents: []json.RawMessage{json.RawMessage(foreign)},
			want: `{"metadata":{"resourceVersion":"12"},"status":{"parents":[{"controllerName":"example.org/c","parentRef":{"name":"g","unknown":1.0},` +
				`"conditions":[{"type":"Accepted","message":"\u003c<>&"}]}]}}`,
		},
		"an empty list is no null": {parents: []json.RawMessage{}, want: `{"metadata":{"resourceVersion":"12"},"status":{"parents":[]}}`},
	} {
		got, err := doc.patch(test.parents)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDecodeBroken(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":     `{`,
		"parentRef":   `{"spec":{"parentRefs":[{"port":"x"}]}}`,
		"resourceVer": `{"metadata":{"resourceVersion":3}}`,
	} {
		if doc, err := decodeDocument([]byte(text), ourName, nil); err == nil {
			t.Errorf("%s: %+v, want an error", name, doc)
		}
	}
	for _, entry := range []string{`7`, `{"controllerName":"example.org/c","conditions":3}`, `{"controllerName":"gammaguard.dev/guard","conditions":3}`} {
		if _, err := decodeDocument([]byte(`{"status":{"parents":[`+entry+`]}}`), ourName, nil); err != nil {
			t.Errorf("%s: an entry keeps the route from being read: %v", entry, err)
		}
	}
}
