package definitions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The IDs of findings.
const (
	// Schema: the definition, or strict decoding, refuses the object.
	Schema = "schema"
	// VersionNotServed: the API server does not serve the kind in this version.
	VersionNotServed = "version-not-served"
)

// Finding is a reason for which the API server refuses an object.
type Finding struct {
	// ID is Schema or VersionNotServed.
	ID string
	// Field is the path of the field; empty for the object as a whole.
	Field string
	// Message is what the API server says, without the path.
	Message string
	// Meant is the field that is probably meant by an unknown one; empty if none is near.
	Meant string
	// List is the path of what an unknown field is in, if that is written as an object and must be a list; empty otherwise.
	List string
}

// Write is a create or an update of one object.
type Write struct {
	// Object is the whole object, in JSON as it is sent.
	Object []byte
	// Mutated is what mutating webhooks make of it, in JSON; nil if they change nothing.
	Mutated []byte
	// Old is the object that is stored, in JSON and any version; nil on create.
	Old []byte
	// Namespace is that of the request, for objects that name none.
	Namespace string
}

// Outcome is what the API server answers to a write.
type Outcome struct {
	// Object is what would be stored: defaults are filled in. It is nil if the object
	// could not be decoded.
	Object map[string]any
	// Findings are the reasons for a refusal, sorted by field; none if the object is
	// admitted.
	Findings []Finding
}

// Write does what the API server does to an object by its definition: whether the
// version is served, decoding with strict field validation as kubectl asks for,
// pruning, defaulting, and validation of metadata, structural schema, list types
// and CEL rules. The server stops at the first of these steps that leaves nothing
// for the next, and so does Write. It knows nothing of webhooks, policies, quotas
// or RBAC. An error is a fault of the definition or of
// the old object.
//
//	set, err := definitions.Embedded(definitions.Standard) // once
//	...
//	outcome, err := set.Write(ctx, &definitions.Write{Object: json, Namespace: "shop"})
//	...
//	for _, finding := range outcome.Findings {
//		fmt.Println(finding.ID, finding.Field, finding.Message)
//	}
func (s *Set) Write(ctx context.Context, w *Write) (*Outcome, error) {
	object, strict := parse(w.Object)
	if object == nil {
		return &Outcome{Findings: strict}, nil
	}
	d, v, err := s.served(object)
	if meta.IsNoMatchError(err) {
		return refused(Finding{ID: VersionNotServed, Field: "apiVersion", Message: err.Error()}), nil
	} else if err != nil {
		return nil, err
	}
	unknown, malformed := v.coerce(object)
	if malformed != nil {
		return refused(*malformed), nil
	}
	if strict = append(strict, unknown...); len(strict) > 0 {
		return &Outcome{Object: object, Findings: strict}, nil
	}
	if w.Mutated != nil { // strict decoding is about what was sent, the rest about this
		if object, strict = parse(w.Mutated); object == nil {
			return &Outcome{Findings: strict}, nil
		}
		if _, malformed := v.coerce(object); malformed != nil {
			return refused(*malformed), nil
		}
	}
	d.setNamespace(object, w.Namespace)
	errs, err := d.validate(ctx, v, object, w)
	return &Outcome{Object: object, Findings: findings(errs)}, err
}

// served returns the definition and the version of the object's kind. The error is
// meta.NoKindMatchError where the version is not served.
func (s *Set) served(object map[string]any) (*definition, *version, error) {
	kind := kindOf(object)
	d, err := s.find(kind.GroupKind())
	if err != nil {
		return nil, nil, err
	}
	if d == nil || d.versions[kind.Version] == nil || !d.versions[kind.Version].served {
		return nil, nil, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return d, d.versions[kind.Version], nil
}

func (d *definition) setNamespace(object map[string]any, namespace string) {
	if accessor := (&unstructured.Unstructured{Object: object}); d.namespaced && accessor.GetNamespace() == "" {
		accessor.SetNamespace(namespace)
	}
}

// validate validates a decoded object as a create, or as an update of the old one.
func (d *definition) validate(ctx context.Context, v *version, object map[string]any, w *Write) (field.ErrorList, error) {
	if w.Old == nil {
		return d.validateCreate(ctx, v, object)
	}
	stored, problems := parse(w.Old)
	if stored == nil {
		return nil, fmt.Errorf("old object: %s", problems[0].Message)
	}
	stored["apiVersion"] = object["apiVersion"]
	if _, malformed := v.coerce(stored); malformed != nil {
		return nil, fmt.Errorf("old object: %s: %s", malformed.Field, malformed.Message)
	}
	d.setNamespace(stored, w.Namespace)
	return v.validateUpdate(ctx, object, stored)
}

func refused(finding Finding) *Outcome { return &Outcome{Findings: []Finding{finding}} }

// findings returns each error once, by field; the server's order is that of maps.
func findings(errs field.ErrorList) []Finding {
	var found []Finding
	for _, err := range errs {
		finding := Finding{ID: Schema, Field: err.Field, Message: err.ErrorBody()}
		if finding.Field == noField {
			finding.Field = ""
		}
		if !slices.Contains(found, finding) {
			found = append(found, finding)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		if (a.Field == "") != (b.Field == "") {
			return strings.Compare(b.Field, a.Field) // what is about the whole comes last
		}
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
	return found
}

// noField is how field.Error writes a path that is nil.
var noField = (*field.Path)(nil).String()
