package definitions

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/mesh"
)

// Channel is a release channel of the Gateway API.
type Channel string

// The channels that come with the binary.
const (
	Standard     Channel = "standard"
	Experimental Channel = "experimental"
)

// generated holds <channel>/<kind>.json for each route kind; see `make definitions`.
//
//go:embed all:generated
var generated embed.FS

// ErrNotBuiltIn is the error of Embedded in a binary that was built without
// definitions.
var ErrNotBuiltIn = errors.New("this binary was built without the CustomResourceDefinitions of the Gateway API: " +
	"run `make definitions` and build it again, or pass --crds")

// Set is a set of CustomResourceDefinitions, by group and kind. It may be used by
// several goroutines.
type Set struct {
	channel Channel // where to look for kinds that were not put; empty for nowhere
	mutex   sync.Mutex
	kinds   map[schema.GroupKind]*definition
}

// New returns an empty set.
func New() *Set { return &Set{kinds: map[schema.GroupKind]*definition{}} }

// Embedded returns the definitions of the route kinds that come with the binary.
// Each is read when it is first asked for.
func Embedded(channel Channel) (*Set, error) {
	if files, err := fs.Glob(generated, path.Join("generated", string(channel), "*.json")); err != nil || len(files) == 0 {
		return nil, ErrNotBuiltIn
	}
	s := New()
	s.channel = channel
	return s, nil
}

// Put adds a definition, in place of another one of its kind.
func (s *Set) Put(crd *apiextensionsv1.CustomResourceDefinition) error {
	d, err := newDefinition(crd)
	if err != nil {
		return err
	}
	s.put(crd, d)
	return nil
}

func (s *Set) put(crd *apiextensionsv1.CustomResourceDefinition, d *definition) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kinds[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = d
}

// PutJSON adds a definition that is written in JSON, as Put does.
func (s *Set) PutJSON(data []byte) error {
	crd, err := decode(data)
	if err != nil {
		return err
	}
	d, err := newDefinition(crd)
	if err != nil {
		return err
	}
	d.text = data
	s.put(crd, d)
	return nil
}

// PutForeign is PutJSON for a definition that somebody else may have written: its CEL rules are not evaluated, since they can
// cost more than anything else in it. Not foreign is the one that the set has, and one that comes with the binary, in any channel.
func (s *Set) PutForeign(data []byte) (foreign bool, _ error) {
	crd, err := decode(data)
	if err != nil {
		return false, err
	}
	used, err := s.find(schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
	if err != nil || used.is(data) {
		return false, err
	}
	for _, channel := range []Channel{Standard, Experimental} {
		own, err := embedded(path.Join("generated", string(channel), crd.Spec.Names.Kind+".json"))
		if err != nil {
			return false, err
		}
		if own.is(data) {
			s.put(crd, own)
			return false, nil
		}
	}
	d, err := newDefinition(crd)
	if err != nil {
		return false, err
	}
	for _, v := range d.versions {
		v.rules = func() *cel.Validator { return nil }
	}
	s.put(crd, d)
	return true, nil
}

// is reports whether the definition is the one in JSON, but for descriptions and what an API server fills in.
func (d *definition) is(data []byte) bool {
	spec := func(text []byte) map[string]any {
		var crd map[string]any
		_ = json.Unmarshal(text, &crd) // what is not JSON is nothing
		spec, _ := crd["spec"].(map[string]any)
		return spec
	}
	if d == nil || d.text == nil {
		return false
	}
	own, given := spec(d.text), spec(data)
	return !slices.ContainsFunc([]string{"group", "scope", "versions"}, func(field string) bool { return !same(own[field], given[field]) })
}

// same compares two JSON values without the texts of descriptions.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, is := b.(map[string]any)
		described := func(of map[string]any) int {
			if _, text := of["description"].(string); text {
				return 1
			}
			return 0
		}
		if !is || len(a)-described(a) != len(b)-described(b) {
			return false
		}
		for name, value := range a {
			other, has := b[name]
			_, text := value.(string)
			if described := name == "description" && text; !described && (!has || !same(value, other)) {
				return false
			}
		}
		return true
	case []any:
		b, is := b.([]any)
		return is && slices.EqualFunc(a, b, same)
	}
	return reflect.DeepEqual(a, b)
}

// Remove makes the set one without a definition of the kind.
func (s *Set) Remove(kind schema.GroupKind) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kinds[kind] = nil
}

// Served returns the versions in which the kind is served; none if the set has no
// definition of it.
func (s *Set) Served(kind schema.GroupKind) ([]string, error) {
	d, err := s.find(kind)
	if err != nil || d == nil {
		return nil, err
	}
	var served []string
	for _, name := range slices.Sorted(maps.Keys(d.versions)) {
		if d.versions[name].served {
			served = append(served, name)
		}
	}
	return served, nil
}

// find returns the definition of a kind, or nil if the set has none.
func (s *Set) find(kind schema.GroupKind) (*definition, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if d, found := s.kinds[kind]; found || s.channel == "" || kind.Group != mesh.GatewayGroup {
		return d, nil
	}
	d, err := embedded(path.Join("generated", string(s.channel), kind.Kind+".json"))
	if err == nil {
		s.kinds[kind] = d
	}
	return d, err
}

// read holds the embedded definitions that were read, by file: they never change, and
// their CEL rules take a while to compile.
var read sync.Map

// embedded returns the definition in the embedded file, or nil if there is none.
func embedded(file string) (*definition, error) {
	if d, ok := read.Load(file); ok {
		return d.(*definition), nil //nolint:forcetypeassert // it holds no others
	}
	data, err := generated.ReadFile(file)
	if err != nil {
		return nil, nil //nolint:nilerr // the channel does not have the kind
	}
	crd, err := decode(data)
	if err != nil {
		return nil, err
	}
	d, err := newDefinition(crd)
	if err != nil {
		return nil, err
	}
	d.text = data
	first, _ := read.LoadOrStore(file, d)
	return first.(*definition), nil //nolint:forcetypeassert // it holds no others
}

func decode(data []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := new(apiextensionsv1.CustomResourceDefinition)
	if err := json.Unmarshal(data, crd); err != nil {
		return nil, fmt.Errorf("not a CustomResourceDefinition: %w", err)
	}
	if crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() || crd.Kind != "CustomResourceDefinition" {
		return nil, fmt.Errorf("not a CustomResourceDefinition of %s: %s %s", apiextensionsv1.SchemeGroupVersion, crd.APIVersion, crd.Kind)
	}
	return crd, nil
}

// Default fills in the defaults of the object's definition, in the version that
// the object is written in, and takes out nulls, as the API server does before
// admission and again after mutations. An object that the set has no definition
// for, or not in its version, stays as it is.
func (s *Set) Default(object map[string]any) error {
	kind := kindOf(object)
	d, err := s.find(kind.GroupKind())
	if err != nil || d == nil || d.versions[kind.Version] == nil {
		return err
	}
	structural := d.versions[kind.Version].structural
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
	return nil
}

func kindOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}
