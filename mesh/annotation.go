package mesh

import (
	"fmt"
	"slices"
	"strings"
)

// MaxAnnotation is the most bytes that are read of an annotation: a selector is matched
// for each namespace with routes on the Service.
const MaxAnnotation = 4096

// Annotation is the value of an annotation.
type Annotation struct {
	// Value is the value; cut if it is longer than 4,096 bytes.
	Value string `json:"-"`
	// Invalid is set if it cannot be read, and so accepts nobody.
	Invalid bool `json:"-"`
}

func (a *Annotation) read(text []byte) {
	a.Value, a.Invalid = string(text[:min(len(text), MaxAnnotation)]), len(text) > MaxAnnotation
}

// KindList is the value of an annotation that lists route kinds, separated by commas.
type KindList struct {
	Annotation `json:"-"`
	kinds      []RouteKind
}

// UnmarshalText implements encoding.TextUnmarshaler. It never fails: an annotation may
// have any value.
func (l *KindList) UnmarshalText(text []byte) error {
	l.kinds = nil
	if l.read(text); l.Invalid {
		return nil
	}
	for name := range strings.SplitSeq(l.Value, ",") {
		if kind := RouteKind(strings.TrimSpace(name)); IsRouteKind(string(kind)) {
			l.kinds = append(l.kinds, kind)
		} else {
			l.Invalid = true
		}
	}
	return nil
}

// Accepts reports whether the list has the kind: none if it cannot be read.
func (l *KindList) Accepts(kind RouteKind) bool {
	return !l.Invalid && slices.Contains(l.kinds, RouteKind(kind.Name()))
}

// With returns the route kinds that the list names, and these, each once.
func (l *KindList) With(kinds ...RouteKind) []RouteKind {
	return slices.DeleteFunc(RouteKinds(), func(kind RouteKind) bool {
		return !slices.Contains(l.kinds, kind) && !slices.ContainsFunc(kinds, func(k RouteKind) bool { return k.Name() == string(kind) })
	})
}

// noKind names the first word of the list that is no kind of route, and the kinds. It is empty if the list is not read to its end.
func (l *KindList) noKind() string {
	if len(l.Value) == MaxAnnotation {
		return ""
	}
	var kinds []string
	for _, kind := range RouteKinds() {
		kinds = append(kinds, string(kind))
	}
	for word := range strings.SplitSeq(l.Value, ",") {
		if word = strings.TrimSpace(word); !IsRouteKind(word) {
			return fmt.Sprintf(": kinds are %s, and not %q", strings.Join(kinds, ", "), word)
		}
	}
	return ""
}
