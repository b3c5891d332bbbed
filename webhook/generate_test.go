package webhook

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

//go:generate go test . -run ^TestGenerated$ -update

var update = flag.Bool("update", false, "write what is generated")

// TestGenerated: quick_generated.go is what the tags of the types say.
func TestGenerated(t *testing.T) {
	const file = "quick_generated.go"
	want := generated(t)
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say, run go test ./webhook -run TestGenerated -update (%v)", file, err)
	}
}

// byHand are the functions for types that have a method of their own to be decoded by.
var byHand = map[reflect.Type]string{
	reflect.TypeFor[object]():           "quickObject",
	reflect.TypeFor[mesh.MethodMatch](): "quickMethod",
	reflect.TypeFor[mesh.Controllers](): "quickControllers",
}

// generator writes one function for each type that is decoded.
type generator struct {
	t     *testing.T
	out   strings.Builder
	todo  []reflect.Type
	names map[reflect.Type]string
}

// generated returns the decoder of an envelope and of all that is in it.
func generated(t *testing.T) []byte {
	g := &generator{t: t, names: map[reflect.Type]string{}}
	g.function(reflect.TypeFor[envelope]())
	g.function(reflect.TypeFor[mesh.Route]())
	g.function(reflect.TypeFor[mesh.Controller]())
	g.function(reflect.TypeFor[mesh.MethodMatch]())
	for i := 0; i < len(g.todo); i++ {
		g.write(g.todo[i])
	}
	text, err := format.Source([]byte("// Code generated from the tags of the types by TestGenerated. DO NOT EDIT.\n\npackage webhook\n\nimport (\n\t\"time\"\n\n" +
		"\t\"github.com/go-faster/jx\"\n\t\"github.com/go-json-experiment/json/jsontext\"\n\n\t\"github.com/gammaguard/gammaguard/mesh\"\n)\n" + g.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// function returns the name of the function that decodes values of the type.
func (g *generator) function(t reflect.Type) string {
	if g.names[t] == "" {
		g.names[t] = "quick" + strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		g.todo = append(g.todo, t)
	}
	return g.names[t]
}

// write writes the function of a type with fields.
func (g *generator) write(t reflect.Type) {
	fmt.Fprintf(&g.out, "\nfunc %s(d *jx.Decoder, v *%s) error {\nvar seen seenFields\nreturn d.ObjBytes(func(d *jx.Decoder, key []byte) error {\nswitch string(key) {\n", g.names[t], name(t))
	for i := range t.NumField() {
		field := t.Field(i)
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" {
			fmt.Fprintf(&g.out, "case %q:\nif seen.again(%d) {\nreturn errSlow\n}\n%s", key, i, g.value(field.Type, "v."+field.Name))
		}
	}
	g.out.WriteString("}\nreturn d.Skip()\n})\n}\n")
}

// name returns the type's name in this package.
func name(t reflect.Type) string { return strings.ReplaceAll(t.String(), "webhook.", "") }

// value returns the statements that decode a value into the place, and return.
func (g *generator) value(t reflect.Type, place string) string {
	switch {
	case byHand[t] != "":
		return fmt.Sprintf("return %s(d, %s)\n", byHand[t], address(place))
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		return fmt.Sprintf("return %s(d, %s)\n", g.function(t), address(place))
	case t.Kind() == reflect.Pointer:
		return fmt.Sprintf("%s = new(%s)\n%s", place, name(t.Elem()), g.value(t.Elem(), "(*"+place+")"))
	case t.Kind() == reflect.Slice && t != reflect.TypeFor[jsontext.Value]():
		return fmt.Sprintf("%[1]s = %[2]s{}\nreturn d.Arr(func(d *jx.Decoder) error {\nif len(%[1]s) == %[3]d {\nreturn errSlow\n}\n%[1]s = append(%[1]s, %[4]s)\n%[5]s})\n",
			place, name(t), g.limit(t), zero(t.Elem()), g.value(t.Elem(), place+"[len("+place+")-1]"))
	}
	method := map[reflect.Kind]string{reflect.String: "String", reflect.Bool: "Bool", reflect.Int: "Int", reflect.Int32: "Int32", reflect.Int64: "Int64", reflect.Struct: "Time", reflect.Slice: "Raw"}[t.Kind()]
	if method == "" {
		g.t.Fatalf("no way to decode %v", t)
	}
	return fmt.Sprintf("return quick%s(d, %s)\n", method, address(place))
}

// limit returns how many items the JSON library takes into such a list.
func (g *generator) limit(t reflect.Type) int {
	item := "{}"
	if t.Elem().Kind() == reflect.String {
		item = `""`
	}
	for n, items := 1, item; n < 100_000; n, items = n+1, items+","+item {
		if mesh.Decode([]byte("["+items+"]"), reflect.New(t).Interface()) != nil {
			return n - 1
		}
	}
	g.t.Fatalf("%v has no limit", t)
	return 0
}

// address returns the expression of the address of the place.
func address(place string) string {
	if inner, ok := strings.CutPrefix(place, "(*"); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return "&" + place
}

func zero(t reflect.Type) string {
	if t.Kind() == reflect.String {
		return `""`
	}
	return name(t) + "{}"
}
