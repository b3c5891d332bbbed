package grants

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestTable: an exempt namespace is marked, in JSON too, a grant from two sources is named once, and
// a label that refuses is named.
func TestTable(t *testing.T) {
	policy := &validate.Policy{
		Exemptions: validate.Exemptions{Namespaces: []string{"lab"}},
		Grants:     mesh.GrantPolicy{Default: mesh.GrantProducer, Selectors: []mesh.GrantSelector{{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Producer}}}},
	}
	none := &mesh.Namespace{Name: "no", Labels: map[string]string{mesh.GrantLabel: "none"}}
	list := Find([]*mesh.Namespace{{Name: "lab"}, none, {Name: "shop"}}, nil, policy)
	var table strings.Builder
	if err := list.TableWithoutRoutes(&table); err != nil {
		t.Fatal(err)
	}
	const want = `NAMESPACE GRANT GRANTED BY MODE SET BY
lab producer default; grants.selectors[0] enforce (exemption) default
no none label enforce default
shop producer default; grants.selectors[0] enforce default
`
	var got strings.Builder
	for line := range strings.Lines(table.String()) {
		got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	text, err := json.Marshal(list)
	if err != nil || strings.Count(string(text), `"exempt":true`) != 1 {
		t.Errorf("%v: want exempt once in %s", err, text)
	}
	if effective := Effective(&mesh.Namespace{Name: "shop"}, policy); effective != "producer" {
		t.Errorf("the grant of audit is %q", effective)
	}
}
