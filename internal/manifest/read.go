package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// Read returns the objects of a file of YAML or JSON documents, in their order,
// those in Lists one by one. Objects that can have a namespace and name none are
// put into the default namespace. A broken document leads to an *Error and is
// left out; the others are read all the same. One with duplicate keys leads to an
// *Error too, and is read.
func Read(file string, data []byte, defaultNamespace string) ([]*Object, []error) {
	r := reader{file: file, defaultNamespace: defaultNamespace, routes: true}
	r.read(data)
	return r.objects, r.errs
}

// ReadUndecoded is Read for objects that may be faulty: a route is not decoded,
// and so never found to be broken.
func ReadUndecoded(file string, data []byte, defaultNamespace string) ([]*Object, []error) {
	r := reader{file: file, defaultNamespace: defaultNamespace}
	r.read(data)
	return r.objects, r.errs
}

const (
	// MaxObjects is how many objects are read of a file, those in Lists included.
	MaxObjects = 100_000
	// maxName is how long a name, a namespace, or a kind may be, in bytes: about four times what an API server
	// takes, which says itself what is wrong with those between.
	maxName = 1024
	// maxLists is how deep lists may be in lists: each is read again with what is around it.
	maxLists = 8
)

type reader struct {
	file             string
	defaultNamespace string
	routes           bool
	documents        int
	objects          []*Object
	errs             []error
}

func (r *reader) read(data []byte) {
	for _, part := range split(string(yaml.UTF8(data))) {
		if r.full(Origin{File: r.file, Document: r.documents, Line: part.line}) {
			return
		}
		r.document(part)
	}
}

// full reports whether no more is read of the file, and says so once.
func (r *reader) full(at Origin) bool {
	switch n := len(r.objects) + len(r.errs); {
	case n < MaxObjects:
		return false
	case n == MaxObjects:
		r.errs = append(r.errs, &Error{at, fmt.Errorf("the file has more than %d objects; what follows is not read", MaxObjects)})
	}
	return true
}

// envelope is what every object, and every List, has.
type envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace    string `json:"namespace"`
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
	Items *[]jsontext.Value `json:"items"`
}

func (r *reader) document(part *source) {
	origin := Origin{File: r.file, Document: r.documents, Line: part.line}
	data := []byte(part.text)
	if !jsontext.Value(data).IsValid(mesh.Lenient) {
		text, err := r.convert(origin, part)
		if err != nil {
			r.documents++
			r.errs = append(r.errs, yamlError(origin, part.text, err))
			return
		}
		data = text
	}
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("null")) {
		return
	}
	r.documents++
	if data[0] != '{' {
		r.errs = append(r.errs, &Error{origin, fmt.Errorf("not a Kubernetes object: it is a %s", jsonKind(data))})
		return
	}
	r.object(&Object{Origin: origin, JSON: data, source: part, item: -1}, "", "", 0)
}

// jsonKind names what a JSON value is that is no object.
func jsonKind(data []byte) string {
	switch jsontext.Value(data).Kind() {
	case '[':
		return "list"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// convert returns the document in JSON.
func (r *reader) convert(origin Origin, part *source) ([]byte, error) {
	data := []byte(part.text)
	text, err := yaml.ToJSONStrict(data)
	if err != nil {
		r.duplicateKey(origin, part)
		text, err = yaml.ToJSON(data)
	}
	return text, err
}

// duplicateKey reports the first duplicate key of the document, if it has one: the last
// one counts, as for kubectl. To the strict parser a merge key (<<) may look like one.
func (r *reader) duplicateKey(origin Origin, part *source) {
	node := part.parse()
	if node == nil {
		return
	}
	if key := duplicateKey(node); key != nil {
		origin.Line += key.Line - 1
		r.errs = append(r.errs, &Error{origin, fmt.Errorf(DuplicateKey+"%q", key.Value)})
	}
}

// object adds the object, or what is in the List. The version and kind are those
// that the List says its items have, for items that do not say themselves. It is in so many Lists.
func (r *reader) object(object *Object, version, kind string, lists int) {
	var e envelope
	if err := mesh.Decode(object.JSON, &e); err != nil {
		r.errs = append(r.errs, &Error{object.Origin, fmt.Errorf("not a Kubernetes object: %w", err)})
		return
	}
	if e.Kind == "" && kind != "" {
		head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, version, kind)
		if rest := bytes.TrimSpace(object.JSON[1:]); !bytes.HasPrefix(rest, []byte("}")) {
			head += ","
		}
		object.JSON = append([]byte(head), object.JSON[1:]...)
		e.APIVersion, e.Kind = version, kind
	}
	if e.Items != nil { // to kubectl, whatever has items is a list, also in a list
		if lists == maxLists {
			r.errs = append(r.errs, &Error{object.Origin, fmt.Errorf("not a Kubernetes object: lists are nested more than %d deep", maxLists)})
			return
		}
		itemKind, isList := strings.CutSuffix(e.Kind, "List")
		if !isList {
			itemKind = ""
		}
		for i, item := range *e.Items {
			if r.full(object.Origin) {
				return
			}
			if lists > 0 { // of the outermost list
				i = object.item
			}
			r.object(&Object{Origin: object.Origin, JSON: item, source: object.source, item: i}, e.APIVersion, itemKind, lists+1)
		}
		return
	}
	if err := e.check(); err != nil {
		r.errs = append(r.errs, &Error{object.Origin, err})
		return
	}
	r.identify(object, &e)
	if r.routes && object.IsRoute() {
		if err := object.DecodeRoute(); err != nil {
			r.errs = append(r.errs, err)
			return
		}
	}
	r.objects = append(r.objects, object)
}

// check returns an error if the object cannot be named in an output.
func (e *envelope) check() error {
	for field, text := range map[string]string{
		"apiVersion": e.APIVersion, "kind": e.Kind, "metadata.namespace": e.Metadata.Namespace, "metadata.name": e.Metadata.Name, "metadata.generateName": e.Metadata.GenerateName,
	} {
		if len(text) > maxName {
			return fmt.Errorf("not a Kubernetes object: %s is longer than %d bytes", field, maxName)
		}
	}
	return nil
}

// identify sets the object's key and version.
func (r *reader) identify(object *Object, e *envelope) {
	group, version, grouped := strings.Cut(e.APIVersion, "/")
	if !grouped {
		group, version = "", e.APIVersion
	}
	object.Version = version
	object.Key = Key{Group: group, Kind: e.Kind, Namespace: e.Metadata.Namespace, Name: e.Metadata.Name}
	if object.Key.Name == "" {
		object.Key.Name = e.Metadata.GenerateName + "*"
	}
	switch {
	case slices.Contains(clusterScoped, e.Kind):
		object.Key.Namespace = ""
	case object.Key.Namespace == "":
		object.Key.Namespace = r.defaultNamespace
	}
}

// clusterScoped are kinds of objects that are in no namespace. Others would only
// be mistaken for namespaced ones, which does no harm: no answer rests on them.
var clusterScoped = []string{
	"Namespace", "CustomResourceDefinition", "GatewayClass", "ClusterRole", "ClusterRoleBinding",
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

// IsRoute reports whether the object is a route of any kind.
func (o *Object) IsRoute() bool {
	return o.Key.Group == mesh.GatewayGroup && mesh.IsRouteKind(o.Key.Kind)
}

// APIVersion returns the group and version as manifests have them.
func (o *Object) APIVersion() string {
	if o.Key.Group == "" {
		return cmp.Or(o.Version, `""`)
	}
	return o.Key.Group + "/" + o.Version
}

// DecodeRoute sets Route, from the JSON of a route. The error, an *Error, says why
// it cannot be read.
func (o *Object) DecodeRoute() error {
	route, err := mesh.DecodeRoute(o.JSON)
	if err != nil {
		origin := o.Origin
		origin.Line = o.Line("")
		return &Error{origin, err}
	}
	route.Metadata.Namespace = o.Key.Namespace
	o.Route = route
	return nil
}

// Broken begins why a document is not YAML, or, in a file of JSON, not JSON.
const Broken = "broken "

// DuplicateKey begins why a document has a key twice, which follows in quotes.
const DuplicateKey = Broken + "YAML: duplicate key "

var yamlLine = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\s+)?(?:line (\d+): )?`)

// CheckYAML returns an error, with the line, if the text of a file that holds no objects, such as values of a chart, is not YAML.
func CheckYAML(file string, data []byte) error {
	if _, err := yaml.ToJSON(data); err != nil {
		return yamlError(Origin{File: file, Line: 1}, string(data), err)
	}
	return nil
}

// conflictMarker is what git writes around what it could not merge.
var conflictMarker = regexp.MustCompile(`(?m)^(?:<{7}|>{7})(?: |\r?$)`)

// yamlError moves the line in the parser's message on the text to where it belongs. Where the parser has come to the end, that is the last line.
// A marker of a conflict is why, wherever the parser has noticed.
func yamlError(origin Origin, text string, err error) error {
	broken := Broken + "YAML: "
	if strings.HasSuffix(origin.File, ".json") {
		broken = Broken + "JSON: "
	}
	if at := conflictMarker.FindStringIndex(text); at != nil {
		origin.Line += strings.Count(text[:at[0]], "\n")
		return &Error{origin, errors.New(broken + "a conflict marker of git; resolve the conflict")}
	}
	if !utf8.ValidString(text) {
		at := strings.IndexRune(text, utf8.RuneError) // of a byte that is not UTF-8, too
		origin.Line += strings.Count(text[:at], "\n")
		return &Error{origin, errors.New(broken + "a character that is not in UTF-8; save the file as UTF-8")}
	}
	message := err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			origin.Line += min(n-1, strings.Count(strings.TrimRight(text, "\n"), "\n"))
			message = yaml.Worded(message, text, n)
		}
	}
	return &Error{origin, errors.New(broken + message)}
}
