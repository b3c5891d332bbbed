package corpus

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

var seedFlag = flag.Uint64("seed", 0, "makes the routes of an earlier run again; 0 for new ones")

// newSeed returns the seed of this run, and prints it.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	t.Logf("again with: -args -seed %d", *seedFlag)
	return *seedFlag
}

// TestGenerated compares the answers to routes with faults: each field of each
// kind with each fault that its schema knows, alone, and every third of them with a
// second fault; and routes without faults in their structure, which have the fields that
// CEL rules of the definitions stand at, until each rule has refused one.
func TestGenerated(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	for _, c := range channels {
		set, err := definitions.Embedded(c.channel)
		if err != nil {
			t.Fatal(err)
		}
		crds, err := bed.CustomResourceDefinitions(t.Context(), c.options)
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range crds {
			if !mesh.IsRouteKind(crd.Spec.Names.Kind) {
				continue
			}
			for _, version := range crd.Spec.Versions {
				t.Run(fmt.Sprintf("%s %s %s", c.channel, crd.Spec.Names.Kind, version.Name), func(t *testing.T) {
					t.Parallel()
					generated(t, c, set, seed, crd, version)
				})
			}
		}
	}
}

func generated(t *testing.T, c *channel, set *definitions.Set, seed uint64, crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) {
	g, api := newGenerator(crd, &version, seed), newServer(t, c.plane)
	pending := rulesOf(version.Schema.OpenAPIV3Schema, "")
	ask := func(what string, object []byte, said answer) {
		pending.seen(said)
		compare(t, what, object, api.dryRun(t, http.MethodPost, object), said)
	}
	plant := func(faults ...fault) {
		object := g.plant(faults...)
		ask(fmt.Sprint(faults), object, defined(t, set, &definitions.Write{Object: object, Namespace: "default"}))
	}
	every := c.every
	if !version.Storage {
		every = experimental.every // it has the schema of the stored version
	}
	faults, random := g.faults(), rand.New(rand.NewPCG(seed, 1))
	for i, fault := range faults {
		if i%every != 0 {
			continue
		}
		plant(fault)
		if random.IntN(3) == 0 {
			plant(fault, faults[random.IntN(len(faults))])
		}
	}
	covers := version.Served && every == 1
	const few, many, most = 10, 50, 5000
	least := few
	if covers {
		least = many
	}
	for i := 0; i < least || covers && len(pending) > 0 && i < most; i++ {
		object := encode(g.with(pending.one(i)))
		said := defined(t, set, &definitions.Write{Object: object, Namespace: "default"})
		if i < least || pending.seen(said) {
			ask("no fault in the structure", object, said)
		}
	}
	if !covers {
		return
	}
	for rule := range pending {
		t.Errorf("no route has broken the rule of %s: %s", rule.field, rule.message)
	}
}

// outOfReach is the message of a rule that no object can break: the field's enum
// refuses the same values before, and rules are not evaluated then.
const outOfReach = "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']"

// rule is a CEL rule, by the field that it stands at and by its message.
type rule struct{ field, message string }

// rules are those that have refused nothing yet.
type rules map[rule]bool

func rulesOf(s *apiextensionsv1.JSONSchemaProps, path string) rules {
	found := rules{}
	for _, r := range s.XValidations {
		if r.Message != outOfReach {
			found[rule{path, r.Message}] = true
		}
	}
	add := func(s *apiextensionsv1.JSONSchemaProps, path string) {
		for r := range rulesOf(s, path) {
			found[r] = true
		}
	}
	for name, field := range s.Properties {
		if path+name != "status" {
			add(&field, path+"."+name)
		}
	}
	if s.Items != nil {
		add(s.Items.Schema, path+"[]")
	}
	return found
}

var index = regexp.MustCompile(`\[\d+\]`)

// one returns the path in the spec of one of the fields that have a rule, another
// one for each number, or nil for none.
func (r rules) one(number int) []string {
	var fields []string
	for rule := range r {
		fields = append(fields, strings.TrimPrefix(rule.field, ".spec"))
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	field := fields[number%len(fields)]
	return strings.FieldsFunc(strings.ReplaceAll(field, "[]", ".[]"), func(r rune) bool { return r == '.' })
}

// seen takes the rules out that the answer names, and reports whether there are any.
func (r rules) seen(a answer) bool {
	before := len(r)
	for _, refusal := range a.Refusals {
		field, message, _ := strings.Cut(refusal, ": ")
		field = "." + index.ReplaceAllString(field, "[]")
		for known := range r {
			if field == known.field && strings.HasSuffix(message, ": "+known.message) {
				delete(r, known)
			}
		}
	}
	return len(r) < before
}
