package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// NamespaceKind is the kind of namespaces.
	NamespaceKind = "Namespace"
	// keyDomain is that of the labels and annotations that gammaguard reads.
	keyDomain = "gammaguard.dev/"
	// scrapeLabel, on a namespace, lets its Pods read the metrics through the NetworkPolicy.
	scrapeLabel = keyDomain + "scrape"
)

// GrantRequestAnnotation, on a namespace, asks mesh admins for a grant. It gives nothing.
const GrantRequestAnnotation = "gammaguard.dev/grant-request"

// KeyField is the field of the metadata that a key is in.
type KeyField string

// The fields of the metadata with keys that gammaguard reads.
const (
	LabelKeys      KeyField = "labels"
	AnnotationKeys KeyField = "annotations"
)

// one reads "label".
func (f KeyField) one() string { return strings.TrimSuffix(string(f), "s") }

// effective returns the names of gammaguard's labels, or annotations, that have an effect on objects of the kind.
func (f KeyField) effective(kind string) []string {
	consumer := []string{ConsumerRoutesFromAnnotation, ConsumerRouteKindsAnnotation}
	var keys []string
	switch labels := f == LabelKeys; {
	case kind == NamespaceKind && labels:
		keys = []string{GrantLabel, ModeLabel, ConsumerRoutesLabel, scrapeLabel}
	case kind == NamespaceKind:
		keys = append([]string{GrantRouteKindsAnnotation, GrantRequestAnnotation}, consumer...)
	case kind == ServiceKind || kind == ServiceImportKind:
		if keys = consumer; labels {
			keys = []string{ConsumerRoutesLabel}
		}
	case !labels: // a route
		keys = []string{IgnoreAnnotation}
	}
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], keyDomain)
	}
	return keys
}

// IneffectiveKey is a label or an annotation of gammaguard's domain that has no effect where it is.
type IneffectiveKey struct {
	Field     KeyField
	Key, Kind string
}

// String reads "the label gammaguard.dev/grnat has no effect here; did you mean the label gammaguard.dev/grant?".
func (k IneffectiveKey) String() string {
	text := fmt.Sprintf("the %s %s has no effect here; ", k.Field.one(), k.Key)
	labels, annotations := LabelKeys.effective(k.Kind), AnnotationKeys.effective(k.Kind)
	near := Nearest(strings.TrimPrefix(k.Key, keyDomain), slices.Concat(labels, annotations))
	switch {
	case slices.Contains(labels, near):
		return text + "did you mean the label " + keyDomain + near + "?"
	case near != "":
		return text + "did you mean the annotation " + keyDomain + near + "?"
	case len(labels) == 0:
		return text + "these have: annotations " + strings.Join(annotations, ", ")
	}
	return text + "these have: labels " + strings.Join(labels, ", ") + "; annotations " + strings.Join(annotations, ", ")
}

// MayHaveKeys reports whether the JSON text may have labels or annotations of gammaguard's domain: most have none.
func MayHaveKeys(text []byte) bool { return bytes.Contains(text, []byte(keyDomain)) }

// IneffectiveKeys yields the labels and annotations of gammaguard's domain that have no effect on the object: a Namespace, a
// Service, a ServiceImport, or a route, as JSON. What cannot be read has none.
func IneffectiveKeys(kind string, object []byte) iter.Seq[IneffectiveKey] {
	return func(yield func(IneffectiveKey) bool) {
		if !MayHaveKeys(object) {
			return
		}
		var of struct {
			Metadata map[KeyField]jsontext.Value `json:"metadata"`
		}
		if Decode(object, &of) != nil {
			return
		}
		for _, field := range []KeyField{LabelKeys, AnnotationKeys} {
			var keys map[string]jsontext.Value
			if of.Metadata[field] == nil || Decode(of.Metadata[field], &keys) != nil {
				continue
			}
			known := field.effective(kind)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if name, ours := strings.CutPrefix(key, keyDomain); ours && !slices.Contains(known, name) && !yield(IneffectiveKey{field, key, kind}) {
					return
				}
			}
		}
	}
}

// UnknownValue is a label or an annotation whose value gammaguard does not know, with a sentence on what it then does.
type UnknownValue struct {
	Field         KeyField
	Key, Sentence string
}

// UnknownValues yields those of the Namespace, the Service, or the ServiceImport, as JSON. What cannot be read has none.
func UnknownValues(kind string, object []byte) iter.Seq[UnknownValue] {
	return func(yield func(UnknownValue) bool) {
		var (
			namespace NamespaceObject
			service   ServiceObject
			errs      []error
			all       iter.Seq2[string, string]
		)
		switch {
		case !MayHaveKeys(object):
			return
		case kind == NamespaceKind && Decode(object, &namespace) == nil:
			read := namespace.Reduce()
			_, errs = read.Policy()
			all = read.Unreadable()
		case kind != NamespaceKind && Decode(object, &service) == nil:
			read := service.Reduce(kind)
			if read.ConsumerRoutes != "" {
				_, errs = readLabel(map[string]string{ConsumerRoutesLabel: read.ConsumerRoutes}, ConsumerRoutesLabel, consumerRoutes(), nil)
			}
			all = read.Unreadable()
		default:
			return
		}
		for _, err := range errs {
			if unknown, is := errors.AsType[*LabelError](err); is && !yield(UnknownValue{LabelKeys, unknown.Key, unknown.Error()}) {
				return
			}
		}
		for key, sentence := range all {
			if !yield(UnknownValue{AnnotationKeys, key, sentence}) {
				return
			}
		}
	}
}
