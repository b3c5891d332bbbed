package source

import (
	"sync/atomic"
	"testing"
)

// TestTemplateLine: what a helper makes is on the line that calls it in, or on the separator above, and on no line of a document of another kind.
func TestTemplateLine(t *testing.T) {
	const (
		service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: cart\nspec:\n  ports: [{port: 80}]\n"
		route   = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: cart\nspec:\n  rules:\n  - weight: 1\n"
		include = "{{ include \"route\" . }}\n"
	)
	for name, test := range map[string]struct {
		text, made string
		line, want int
	}{
		"a Service above":                {service + "---\n" + include, service + "---\n" + route, 14, 7},
		"a Service of a range":           {"{{ range .all }}\n" + service + "---\n{{ end }}\n" + include, "\n" + service + "---\n\n" + service + "---\n\n" + route, 22, 8},
		"Services that a range includes": {"{{ range .all }}\n---\n{{ include `service` . }}\n{{ end }}\n---\n" + include, "\n---\n" + service + "\n---\n" + service + "\n---\n" + route, 22, 5},
		"the third of includes":          {include + "---\n" + include + "---\n" + include, service + "---\n" + service + "---\n" + route, 20, 4},
		"the first of a range":           {"---\n" + include + "{{ range .all }}\n---\n{{ include `service` . }}\n{{ end }}\n", "---\n" + route + "\n---\n" + service + "\n---\n" + service, 4, 1},
		"one that is left out is below":  {"---\n" + include + "---\n" + include + "{{ if .c }}\n---\n" + include + "{{ end }}\n", "---\n" + service + "---\n" + route, 12, 3},
		"written out":                    {service + "---\n" + route, service + "---\n" + route, 14, 14},
		"one of two kinds":               {"{{ if .a }}\n" + service + "{{ else }}\n" + route + "{{ end }}\n", "\n" + service + "\n", 6, 6},
		"a kind that an action says":     {"kind: {{ .kind }}\nmetadata:\n  name: cart\n", "kind: HTTPRoute\nmetadata:\n  name: cart\n", 3, 3},
	} {
		at := &template{text: test.text, made: test.made, compared: &atomic.Int64{}}
		if got := at.line(test.line); got != test.want {
			t.Errorf("%s: line %d, want %d", name, got, test.want)
		}
	}
}
