package cluster_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// largeCluster is an API server with so many namespaces, each with 100 Services and 500
// HTTPRoutes on them: with 200 namespaces, 100,000 routes on 20,000 Services. It serves
// lists by pages, and counts the requests.
type largeCluster struct {
	namespaces int
	requests   atomic.Int64
}

// A namespace of a largeCluster.
const (
	servicesEach = 100
	routesEach   = 500
)

// route is what follows the name of a stored route, with the fields that others keep there.
const route = `","uid":"8f7a1c1e-5b1f-4f0e-9d39-0b7a5b5a1c11","resourceVersion":"123456","generation":3,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app.kubernetes.io/name":"cart","app.kubernetes.io/part-of":"shop"},
"annotations":{"team":"cart","kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"gateway.networking.k8s.io/v1\",\"kind\":\"HTTPRoute\",\"metadata\":{\"annotations\":{},\"name\":\"cart\",\"namespace\":\"shop\"},\"spec\":{\"parentRefs\":[{\"group\":\"\",\"kind\":\"Service\",\"name\":\"cart\",\"port\":80}]}}"},
"managedFields":[{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"gateway.networking.k8s.io/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{".":{},"f:parentRefs":{},"f:rules":{}}}}]},
"spec":{"parentRefs":[{"group":"","kind":"Service","name":"s%d","port":80}],"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/%d"},"headers":[{"type":"Exact","name":"tenant","value":"gold"}]}],"backendRefs":[{"group":"","kind":"Service","name":"s%d","port":80,"weight":1}]}]},
"status":{"parents":[{"parentRef":{"group":"","kind":"Service","name":"s%d","port":80},"controllerName":"example.com/mesh","conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":3}]}]}}`

// item writes the object of that number of the resource, counted within its namespace.
func item(w io.Writer, resource, namespace string, i int) {
	switch resource {
	case "namespaces":
		grant := "producer"
		if i%10 == 9 {
			grant = "none"
		}
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n%d","labels":{"gammaguard.dev/grant":%q}}}`, i, grant)
	case "services":
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s%d","namespace":%q},"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1","ports":[{"name":"http","port":80,"protocol":"TCP","targetPort":80}],"selector":{"app":"a"}}}`, i, namespace)
	case "endpointslices":
		fmt.Fprintf(w, `{"metadata":{"name":"s%[1]d-x","namespace":%[2]q,"labels":{"kubernetes.io/service-name":"s%[1]d"}},"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"],"conditions":{"ready":true}}],"ports":[{"port":80}]}`, i, namespace)
	case "httproutes":
		on := i % servicesEach
		fmt.Fprintf(w, `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"namespace":%q,"name":"r%d`+route, namespace, i, on, i, on, on)
	}
}

// ServeHTTP serves discovery, pages of lists, and single objects.
func (c *largeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	w.Header().Set("Content-Type", "application/json")
	each := map[string]int{"namespaces": 0, "services": servicesEach, "endpointslices": servicesEach, "httproutes": routesEach}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch path := strings.Join(parts, "/"); path {
	case "apis/gateway.networking.k8s.io":
		fmt.Fprint(w, `{"kind":"APIGroup","name":"gateway.networking.k8s.io","versions":[{"groupVersion":"gateway.networking.k8s.io/v1","version":"v1"}]}`)
		return
	case "apis/gateway.networking.k8s.io/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"gateway.networking.k8s.io/v1","resources":[{"name":"httproutes","kind":"HTTPRoute","namespaced":true}]}`)
		return
	case "apis/policy.linkerd.io":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	parts = parts[2:] // api/v1, or apis/GROUP/
	if r.URL.Path[:5] == "/apis" {
		parts = parts[1:]
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	perNamespace, known := each[parts[0]]
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case len(parts) == 2:
		i, _ := strconv.Atoi(parts[1][1:])
		item(w, parts[0], namespace, i)
	default:
		c.list(w, r, parts[0], namespace, perNamespace)
	}
}

// list serves a page. The token of the next one is its first object's number.
func (c *largeCluster) list(w io.Writer, r *http.Request, resource, namespace string, each int) {
	all, at := each*c.namespaces, func(i int) (string, int) { return "n" + strconv.Itoa(i/each), i % each }
	switch {
	case resource == "namespaces":
		all, at = c.namespaces, func(i int) (string, int) { return "", i }
	case namespace != "":
		all, at = each, func(i int) (string, int) { return namespace, i }
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit == 0 {
		limit = all
	}
	var page bytes.Buffer
	next := ""
	if from+limit < all {
		next = strconv.Itoa(from + limit)
	}
	fmt.Fprintf(&page, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":%q},"items":[`, next)
	for i := from; i < min(from+limit, all); i++ {
		if i > from {
			page.WriteByte(',')
		}
		in, number := at(i)
		item(&page, resource, in, number)
	}
	page.WriteString("]}")
	w.Write(page.Bytes()) //nolint:errcheck,gosec // the client's loss
}

// largeCommands are those that must answer fast, by how much of the cluster they look at.
var largeCommands = map[string][]string{
	"one namespace": {"audit -n n7", "describe service/s3 -n n7", "grants -n n7", "graph -n n7 -o html", "graph service/s3 -n n7", "conflicts -n n7"},
	"all":           {"audit -A", "grants -A", "graph -A", "conflicts -A"},
}

// ask runs a command on the cluster, and returns how long it took and how many requests it
// made.
func (c *largeCluster) ask(t testing.TB, server, args string) (time.Duration, int64) {
	before, began := c.requests.Load(), time.Now()
	var stdout, stderr bytes.Buffer
	code := command.Main(append([]string{"gammaguard"}, append(strings.Fields(args), "--server", server, "--cache-dir", t.TempDir())...), strings.NewReader(""), &stdout, &stderr)
	tooMany := args == "graph -A" && strings.Contains(stderr.String(), "routes are selected, and a graph shows at most 500")
	if !tooMany && (code == command.ExitUsage || stdout.Len() == 0) {
		t.Fatalf("%s: exit code %d: %s", args, code, &stderr)
	}
	return time.Since(began), c.requests.Load() - before
}

// BenchmarkLarge has each command answer on 100,000 routes in 20,000 Services: within 3 s
// for one namespace, and within 15 s for all.
func BenchmarkLarge(b *testing.B) {
	large := &largeCluster{namespaces: 200}
	server := httptest.NewServer(large)
	defer server.Close()
	for scope, limit := range map[string]time.Duration{"one namespace": 3 * time.Second, "all": 15 * time.Second} {
		for _, args := range largeCommands[scope] {
			b.Run(strings.ReplaceAll(args, " ", "_"), func(b *testing.B) {
				for b.Loop() {
					took, requests := large.ask(b, server.URL, args)
					b.ReportMetric(float64(requests), "requests/op")
					if took > limit {
						b.Errorf("%s took %v, must be at most %v", args, took, limit)
					}
				}
			})
		}
	}
}

// TestLargeRequests: the commands read by pages, and never one object for each route or
// Service.
func TestLargeRequests(t *testing.T) {
	large := &largeCluster{namespaces: 6}
	server := httptest.NewServer(large)
	defer server.Close()
	for _, commands := range largeCommands {
		for _, args := range commands {
			args = strings.ReplaceAll(args, "n7", "n5")
			if _, requests := large.ask(t, server.URL, args); requests > 40 {
				t.Errorf("%s: %d requests", args, requests)
			}
		}
	}
}
