package mesh

import "testing"

func TestSameJSON(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true, null ], "a" : 1 } `, true},
		{`{"a":1}`, `{"a":1.0}`, true},
		{`1e2`, `100`, true},
		{`"A"`, `"A"`, true},
		{``, ``, true},
		{`{}`, ``, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`1`, `"1"`, false},
		{`1`, `true`, false},
		{`{"a":1`, `{"a":2`, false},
	} {
		if got := sameJSON([]byte(test.a), []byte(test.b)); got != test.want {
			t.Errorf("%s and %s: got %v", test.a, test.b, got)
		}
		if got := sameJSON([]byte(test.b), []byte(test.a)); got != test.want {
			t.Errorf("%s and %s: got %v", test.b, test.a, got)
		}
	}
}
