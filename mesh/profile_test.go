package mesh

import (
	"reflect"
	"slices"
	"testing"
)

// Each cell of the table says where it is from.
func TestProfileSources(t *testing.T) {
	for _, p := range Profiles() {
		value := reflect.ValueOf(*p)
		facts := 0
		for i := range value.NumField() {
			source := value.Field(i)
			switch {
			case source.Kind() == reflect.String && source.String() == "":
				t.Errorf("%s: %s is empty", p.Name, value.Type().Field(i).Name)
			case source.Kind() != reflect.Struct:
				continue
			}
			facts++
			if source.FieldByName("Source").String() == "" {
				t.Errorf("%s: %s has no source", p.Name, value.Type().Field(i).Name)
			}
		}
		if facts < 10 {
			t.Errorf("%s: only %d facts", p.Name, facts)
		}
		for i := range p.Fields {
			f := &p.Fields[i]
			if f.Source == "" || f.Value == "" || !slices.ContainsFunc(RouteKinds(), func(kind RouteKind) bool {
				return f.about(kind, f.Field) && slices.Contains(FieldsOf(kind), f.Field)
			}) {
				t.Errorf("%s: %+v is about nothing, or has no source", p.Name, f)
			}
			for _, bound := range []string{f.Since, f.Until} {
				if r, err := parseRelease(bound); bound != "" && (err != nil || p.Name == Linkerd && r[0] < 20) {
					t.Errorf("%s: %s has the bound %q", p.Name, f.Field, bound)
				}
			}
		}
		if p.Newer() || FindProfile(p.Name+"@"+ProfileName(p.Newest)).Newer() || !FindProfile(p.Name+"@9998.1").Newer() {
			t.Errorf("%s: Newer is wrong", p.Name)
		}
		if FindProfile(p.Name).Title != p.Title {
			t.Errorf("%s is not found by its name", p.Name)
		}
	}
	if !slices.Equal(ProfileNames(), []ProfileName{Cilium, Istio, Kuma, Linkerd}) || FindProfile("") != nil {
		t.Errorf("profiles: %q", ProfileNames())
	}
}

func TestProfile(t *testing.T) {
	entry := &ParentRef{Group: new(string), Kind: "serviceentry", Name: "a"}
	*entry.Group = "networking.istio.io"
	cell := &ParentRef{Group: new(string), Kind: "Cell", Name: "a"}
	var none *Profile
	istio, kuma := FindProfile(Istio), FindProfile(Kuma)
	for name, ok := range map[string]bool{
		"the specification takes every kind":     none.Takes(UDPRoute),
		"the specification merges nothing":       !none.merges(HTTPRoute, GRPCRoute),
		"the specification knows no other mesh":  none.OfAnotherMesh(entry) == "",
		"Kuma takes no GRPCRoute":                !kuma.Takes(GRPCRoute) && kuma.Takes(HTTPRoute),
		"Istio merges kinds that match requests": istio.merges(HTTPRoute, GRPCRoute) && istio.merges(GRPCRoute, HTTPRoute),
		"Istio merges no other kinds":            !istio.merges(HTTPRoute, TCPRoute) && !istio.merges(TLSRoute, TCPRoute),
		"Kuma merges nothing":                    !kuma.merges(HTTPRoute, GRPCRoute),
		"a ServiceEntry is Istio's, in any case": kuma.OfAnotherMesh(entry) == "Istio" && istio.OfAnotherMesh(entry) == "",
		"a kind of no mesh is no other mesh's":   istio.OfAnotherMesh(cell) == "",
		"Linkerd compares scopes, and no other":  FindProfile(Linkerd).Shares(SharingAcrossScopes) && !istio.Shares(SharingAcrossScopes),
		"the specification shares as it says":    !none.Shares(SharingAcrossScopes),
	} {
		if !ok {
			t.Errorf("not so: %s", name)
		}
	}
}
