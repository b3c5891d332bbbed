package mesh

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lenient is how stored objects are read. None is refused for the way it is
// written: what is not UTF-8 is replaced, and of duplicate names the last counts.
var Lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Decode reads JSON from the API server, or from a manifest, by the tags of what
// it is read into. Names are case-sensitive, null counts as left out, and fields
// without a place are passed over. The error is a *FieldError.
func Decode(data []byte, into any, options ...json.Options) error {
	if err := json.Unmarshal(data, into, Lenient, json.JoinOptions(options...)); err != nil {
		return fieldError(err)
	}
	return nil
}

// FieldError reports which field of an object cannot be read.
type FieldError struct {
	// Path is the field's path: "spec.parentRefs[0].port". It is empty for the
	// object itself.
	Path   string
	Reason string
}

// Error reads "spec.parentRefs[0].port: found string, want integer".
func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// fieldError returns the JSON library's error as a *FieldError.
func fieldError(err error) *FieldError {
	reason, pointer := err.Error(), jsontext.Pointer("")
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		reason, pointer = reasonOf(semantic), semantic.JSONPointer
	case errors.As(err, &syntactic):
		reason, pointer = fmt.Sprintf("%v after offset %d", syntactic.Err, syntactic.ByteOffset), syntactic.JSONPointer
	}
	var path strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			path.WriteString("[" + token + "]")
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
	}
	return &FieldError{path.String(), reason}
}

// reasonOf returns a message that is the same in each process, unlike the one of the
// library.
func reasonOf(e *json.SemanticError) string {
	if e.Err != nil {
		return strings.TrimSpace(string(e.JSONValue) + " " + e.Err.Error())
	}
	found := map[jsontext.Kind]string{'{': "object", '[': "array"}[e.JSONKind]
	if found == "" {
		found = e.JSONKind.String()
	}
	return fmt.Sprintf("found %s, want %s", found, jsonType(e.GoType))
}

// jsonType returns what OpenAPI calls the type.
func jsonType(t reflect.Type) string {
	if t == nil || t == reflect.TypeFor[time.Time]() {
		return "another type"
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that are decoded
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "array"
	}
	return "object"
}
