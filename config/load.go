package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsjson "sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// LoadFile reads the configuration file at the path, which its errors name.
func LoadFile(path string, overrides ...Override) (*GuardConfiguration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	c, err := Load(data, overrides...)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// Load reads a configuration from YAML or JSON, fills in its defaults and checks
// it. Unknown and duplicate fields are errors. The error is one line, however
// many mistakes it names.
func Load(data []byte, overrides ...Override) (*GuardConfiguration, error) {
	object, err := document(data)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(object); err != nil {
		return nil, err
	}
	c := &GuardConfiguration{}
	mistakes, err := sigsjson.UnmarshalStrict(object, c)
	for i, mistake := range mistakes {
		mistakes[i] = advise(mistake)
	}
	if err != nil {
		mistakes = append(mistakes, explain(err))
	}
	c.setDefaults(overrides)
	for _, invalid := range c.validate() {
		mistakes = append(mistakes, invalid)
	}
	if len(mistakes) > 0 {
		return nil, utilerrors.NewAggregate(mistakes)
	}
	return c, nil
}

// document returns the file's one document as JSON.
func document(data []byte) ([]byte, error) {
	var (
		decoder = yamlv2.NewDecoder(bytes.NewReader(data))
		filled  int
	)
	if err := yaml.Check(data); err != nil {
		return nil, errors.New(oneLine(err))
	}
	for {
		var content any
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New(oneLine(err))
		}
		if content != nil {
			filled++
		}
	}
	if filled > 1 {
		return nil, fmt.Errorf("found %d YAML documents, expected one", filled)
	}
	object, err := yaml.ToJSONStrict(data)
	switch {
	case err != nil:
		return nil, errors.New(oneLine(err))
	case filled == 0, string(object) == "null":
		return nil, fmt.Errorf("the first YAML document is empty, expected one with apiVersion: %s, kind: %s", APIVersion, Kind)
	}
	return object, nil
}

// checkHeader rejects other kinds of objects before it checks their fields.
func checkHeader(object []byte) error {
	var header metav1.TypeMeta
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(object, &header); err != nil {
		return explain(err)
	}
	var wrong field.ErrorList
	for _, part := range []struct{ name, value, want string }{
		{"apiVersion", header.APIVersion, APIVersion},
		{"kind", header.Kind, Kind},
	} {
		switch path := field.NewPath(part.name); part.value {
		case part.want:
		case "":
			wrong = append(wrong, field.Required(path, "must be "+part.want))
		default:
			wrong = append(wrong, field.NotSupported(path, part.value, []string{part.want}))
		}
	}
	return wrong.ToAggregate()
}

var (
	unknownField = regexp.MustCompile(`^unknown field "((?:.*\.)?([^."]+))"$`)
	// checkFields are the fields of the file that says how gammaguard check works, and not what it finds.
	checkFields = []string{"sets", "context", "ignore", "configuration", "failOn"}
)

// advise adds to an error about an unknown field which one may be meant, where that is known.
func advise(mistake error) error {
	m := unknownField.FindStringSubmatch(mistake.Error())
	if m == nil {
		return mistake
	}
	path, name := m[1], m[2]
	if slices.Contains(checkFields, path) {
		return fmt.Errorf("%w; it is a field of .gammaguard.yaml", mistake)
	}
	parents := strings.Split(path, ".")
	at := Schema()
	properties, _ := at["properties"].(map[string]any)
	for _, parent := range parents[:len(parents)-1] {
		parent, _, listed := strings.Cut(parent, "[")
		if at, _ = properties[parent].(map[string]any); listed {
			at, _ = at["items"].(map[string]any)
		}
		properties, _ = at["properties"].(map[string]any)
	}
	known := slices.Sorted(maps.Keys(properties))
	if near := mesh.Nearest(name, known); near != "" {
		return fmt.Errorf("%w; did you mean %q?", mistake, near)
	}
	if len(known) == 0 { // a name with a dot
		return mistake
	}
	return fmt.Errorf("%w; the fields here are %s", mistake, strings.Join(known, ", "))
}

// explain returns the expected type for a value of the wrong type.
func explain(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return errors.New(oneLine(err))
	}
	where := mismatch.Field
	if where == "" {
		where = "the document"
	}
	want := "a " + mismatch.Type.Kind().String()
	switch mismatch.Type.Kind() {
	case reflect.Slice:
		want = "a list"
	case reflect.Struct, reflect.Map:
		want = "a mapping"
	}
	return fmt.Errorf("%s: must be %s, not %s", where, want, mismatch.Value)
}

// word returns the content of a string. YAML decodes the words off and on to
// booleans; anything else is returned as it is, and reported as unsupported.
func word(data []byte) string {
	var text string
	switch err := json.Unmarshal(data, &text); {
	case err == nil && text != "":
		return text
	case string(data) == "false":
		return "off"
	case string(data) == "true":
		return "on"
	}
	return string(data)
}

// oneLine joins the lines of a YAML error.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
