package attack

import (
	"fmt"
	"strings"
	"testing"
)

// headers are the headers of a match, as many as the schema admits.
func headers(kind, value string) string {
	return `"headers": [` + repeated(16, fmt.Sprintf(`{"name": "h%%d", "type": %q, "value": %q}`, kind, value)) + `]`
}

// shadowed are 256 matches that the first one may take the requests of.
func shadowed(first, others string) string {
	rule := `{"matches": [` + repeatedRule(64, `{`+others+`}`) + `]}`
	return `{"parentRefs": [` + parentOnCart + `], "rules": [{"matches": [{` + first + `}]},` + repeatedRule(4, rule) + `]}`
}

// change is a review of an update of an object in namespace hostile.
func change(kind, now, old string) string {
	of := func(rest string) string {
		return fmt.Sprintf(`{"kind": %q, "metadata": {"name": "cart", "namespace": "hostile-all"%s}`, kind, rest)
	}
	return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "UPDATE", "namespace": "hostile-all",
		"object": ` + of(now) + `, "oldObject": ` + of(old) + `}}`
}

// many is the item so often that it has so many bytes.
func many(size int, item string) string { return repeatedRule(size/(len(item)+1), item) }

// hostileReviews cost more than their size where work is done again and again.
var hostileReviews = []struct {
	name, path string
	review     func() string
}{
	{"costly regular expressions", "/validate", func() string {
		return review("hostile-all", shadowed(headers("RegularExpression", "((a?b?c?d?){1,1000}(a?b?c?d?){1,1000})"), headers("Exact", strings.Repeat("a", 60))))
	}},
	{"a long path", "/validate", func() string {
		return review("hostile-all", shadowed(`"path": {"value": "`+strings.Repeat("/", largest-64<<10)+`"}, `+headers("RegularExpression", "a"), `"path": {"value": "/"}`))
	}},
	{"long names", "/validate", func() string {
		return review("hostile-all", `{"parentRefs": [`+repeated(32, `{"group": "", "kind": "Service", "name": "%d`+strings.Repeat("x", largest/33)+`"}`)+`]}`)
	}},
	{"an update of what is nested", "/validate", func() string {
		nested := func(value string) string {
			return `}, "spec": {"parentRefs": [` + parentOnCart + `], "other": ` + strings.Repeat(`{"b": 1, "a":`, 9000) + "[" + many(1<<20, value) + "]" + strings.Repeat("}", 9000) + "}"
		}
		return change("HTTPRoute", nested(`{"b": 1.0}`), nested(`{"b": 1}`))
	}},
	{"labels", "/preview-labels", func() string {
		return change("Namespace", `, "labels": {`+repeated(100_000, `"label-%d": ""`)+`}}`, "}")
	}},
	{"kinds", "/preview-labels", func() string {
		return change("Namespace", `, "annotations": {`+many(largest-4<<10, `"gammaguard.dev/consumer-route-kinds": "`+strings.Repeat(",", 4000)+`"`)+`}}`, "}")
	}},
	{"ports", "/preview-services", func() string {
		ports := `}, "spec": {"ports": [{"port": 80, "name": "http"},` + many(largest/2-4<<10, `{}`) + `]}`
		return change("Service", ports, ports)
	}},
	{"ports that a preview compares", "/preview-services", func() string {
		ports := `}, "spec": {"ports": [` + repeated(999, `{"port": %d}`) + `]}`
		return change("Service", ports, ports)
	}},
	{"parents that a preview compares", "/preview-routes", func() string {
		parents := make([]string, 32)
		for i := range parents {
			parents[i] = fmt.Sprintf(`{"group": "", "kind": "Service", "name": "cart", "port": %d}`, 80+i)
		}
		return change("HTTPRoute", `}, "spec": {"parentRefs": [{"name": "edge"}]}`, `}, "spec": {"parentRefs": [`+strings.Join(parents, ",")+`]}`)
	}},
}

// TestHostileReviews: a call of any webhook is answered within a second, also if it is made
// to cost more than its size, and the process stays small.
func TestHostileReviews(t *testing.T) {
	s := start(t)
	s.grant(t, "hostile-all", "all")
	// Previews of Services look at each parentRef that names the Service.
	ports, parents := make([]any, 32), make([]parent, 32)
	for i := range ports {
		ports[i] = object{"name": fmt.Sprintf("p%d", i), "port": int64(80 + i)}
		parents[i] = parent{"group": "", "kind": "Service", "name": "cart", "sectionName": fmt.Sprintf("p%d", i)}
	}
	s.service(t, "hostile-all", "cart", object{"ports": ports})
	for i := range 30 {
		s.apply(t, httpRoutes, "hostile-all", http.route("hostile-all", fmt.Sprintf("route-%d", i), parents...).Object)
	}
	webhook := newCaller(s.guard.URL, s.guard.CA)
	defer webhook.client.CloseIdleConnections()
	for _, hostile := range hostileReviews {
		body := hostile.review()
		var err error
		took := quickest(func() { _, err = webhook.send(t.Context(), hostile.path, body) })
		t.Logf("%s of %s, %d KiB: %s", hostile.path, hostile.name, len(body)>>10, took)
		if err != nil || took > mostTime {
			t.Errorf("%s of %s: %v, after %s", hostile.path, hostile.name, err, took)
		}
	}
	s.wantSmall(t)
}
