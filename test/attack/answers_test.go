package attack

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// situations are what may exist behind an answer: what a namespace's Service cart looks
// like. A granted user is answered by the rule.
var situations = []struct {
	name, rule string
	// question is the one that the granted user asks.
	question int
	make     func(t *testing.T, s *site, namespace string)
}{
	{"nothing", "parent-not-found", 0, func(*testing.T, *site, string) {}},
	{"a Service", "no-catch-all", 0, func(t *testing.T, s *site, ns string) {
		s.service(t, ns, "cart", object{"ports": []any{object{"name": "http", "port": int64(80)}, object{"name": "admin", "port": int64(90)}}})
	}},
	{"a headless Service", "parent-headless", 0, func(t *testing.T, s *site, ns string) {
		s.service(t, ns, "cart", object{"clusterIP": "None", "ports": []any{object{"name": "http", "port": int64(80)}}})
	}},
	{"an ExternalName Service", "parent-external-name", 0, func(t *testing.T, s *site, ns string) {
		s.service(t, ns, "cart", object{"type": "ExternalName", "externalName": "example.com"})
	}},
	{"a Service with other ports", "parent-port-not-found", 0, func(t *testing.T, s *site, ns string) {
		s.service(t, ns, "cart", object{"ports": []any{object{"name": "other", "port": int64(81)}}})
	}},
	{"a Service with a route of its owner", "no-catch-all", 0, func(t *testing.T, s *site, ns string) {
		s.service(t, ns, "cart", object{"ports": []any{object{"name": "http", "port": int64(80)}}})
		s.grant(t, ns, "all")
		route := endpoint{"GRPCRoute", "v1"}
		s.apply(t, route.resource(), ns, route.route(ns, "cart", onCart()).Object)
	}},
	{"a headless ServiceImport", "parent-headless", 3, func(t *testing.T, s *site, ns string) {
		s.apply(t, imports, ns, object{
			"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "metadata": object{"name": "cart"},
			"spec": object{"type": "Headless", "ports": []any{object{"port": int64(80), "protocol": "TCP"}}},
		})
	}},
	{"a Service that refuses consumers", "consumer-refused", 0, func(t *testing.T, s *site, ns string) {
		s.apply(t, services, ns, object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "cart", "labels": object{"gammaguard.dev/consumer-routes": "deny"}},
			"spec": object{"ports": []any{object{"name": "http", "port": int64(80)}}},
		})
	}},
}

// questions are routes whose answers, and what mutations set in them, could tell what exists
// in namespace SECRET.
var questions = []string{
	`{"parentRefs": [{"group": "", "kind": "Service", "name": "cart", "namespace": "SECRET", "port": 80}], "rules": [{"matches": [{"path": {"value": "/cart"}}]}]}`,
	`{"parentRefs": [{"kind": "Service", "name": "cart", "namespace": "SECRET", "sectionName": "http"}]}`,
	`{"parentRefs": [{"kind": "service", "name": "cart", "namespace": "SECRET"}]}`,
	`{"parentRefs": [{"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "cart", "namespace": "SECRET"}]}`,
	`{"parentRefs": [{"group": "networking.istio.io", "kind": "ServiceEntry", "name": "cart", "namespace": "SECRET"}]}`,
	`{"parentRefs": [{"kind": "Service", "name": "cart", "namespace": "SECRET", "port": 80}, {"kind": "Service", "name": "cart", "namespace": "SECRET", "port": 90}]}`,
	`{"parentRefs": [{"kind": "Service", "name": "own"}], "rules": [{"backendRefs": [{"name": "cart", "namespace": "SECRET"}]}]}`,
	`{"parentRefs": [{"kind": "Service", "name": "own"}], "rules": [{"backendRefs": [{"name": "cart", "namespace": "SECRET", "port": 80}],
		"filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "cart", "namespace": "SECRET", "port": 80}}}]}]}`,
}

// blindModes are the modes of the namespaces without a grant from which questions are asked.
// The last one enforces: its answers show that the guard has seen the labels of all.
var blindModes = []string{"audit", "warn", "enforce"}

// TestAnswersAreEqual asks, without a grant and in every mode, about a namespace in every
// situation, another one and the own one: all that the API server answers, warnings and the
// object included, is the same, byte for byte. A granted user is answered differently each
// time. This holds where the API server has the policies on grants too, whose answers are not
// longer than the webhook's.
func TestAnswersAreEqual(t *testing.T) {
	s := start(t)
	t.Run("webhook", func(t *testing.T) { s.answersAreEqual(t) })
	if err := guard.InstallPolicies(t.Context(), s.plane, config.Default().Policy()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := guard.RemovePolicies(t.Context(), s.plane); err != nil {
			t.Error(err)
		}
	}()
	t.Run("policies and webhook", func(t *testing.T) { s.answersAreEqual(t) })
	if answer := s.raw(t).create(t, "blind-enforce", strings.ReplaceAll(questions[0], "SECRET", "secret-1"), ""); !strings.Contains(answer, "ValidatingAdmissionPolicy '"+grantpolicy.Name+"'") {
		t.Errorf("the policy does not refuse: %s", answer)
	}
}

func (s *site) answersAreEqual(t *testing.T) {
	t.Helper()
	blind := func(name, mode string) {
		s.apply(t, namespaces, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
			"name": name, "labels": object{"gammaguard.dev/grant": "none", "gammaguard.dev/mode": mode},
		}})
	}
	for _, mode := range blindModes {
		blind("blind-"+mode, mode)
	}
	s.grant(t, "sighted", "all")
	asker := s.raw(t)
	ask := func(from, mode, secret string) (answers []string) {
		for _, spec := range questions {
			spec = strings.ReplaceAll(spec, "SECRET", secret)
			queries := []string{"", "?dryRun=All"}
			if mode != "enforce" {
				queries = queries[1:] // so that nothing is stored
			}
			for _, query := range queries {
				answers = append(answers, asker.create(t, from, spec, query))
			}
		}
		return answers
	}
	// The secret's name is replaced in the answers, which repeat it.
	first := map[string][]string{}
	for i, situation := range situations {
		secret := fmt.Sprintf("secret-%d", i)
		if i > 0 { // in the first one, the namespace does not exist either
			s.grant(t, secret, "none")
		}
		situation.make(t, s, secret)
		secrets := []string{secret}
		for _, mode := range blindModes {
			own := fmt.Sprintf("own-%d-%s", i, mode)
			s.grant(t, own, "none")
			situation.make(t, s, own)
			blind(own, mode)
			secrets = append(secrets, own)
		}
		for _, secret := range secrets {
			background.Eventually(t, func() string {
				answer := asker.create(t, "sighted", strings.ReplaceAll(questions[situation.question], "SECRET", secret), "?dryRun=All")
				if !strings.Contains(answer, "("+situation.rule+")") {
					return fmt.Sprintf("%s: a granted user is answered %s", situation.name, answer)
				}
				return ""
			})
		}
		background.Eventually(t, func() string {
			last := secrets[len(secrets)-1]
			if answer := asker.create(t, last, strings.ReplaceAll(questions[0], "SECRET", last), "?dryRun=All"); !strings.Contains(answer, "(grant-missing)") {
				return fmt.Sprintf("%s: a user without a grant is answered %s", situation.name, answer)
			}
			return ""
		})
		for m, mode := range blindModes {
			for _, place := range []struct{ name, from, secret string }{
				{"another namespace", "blind-" + mode, secret},
				{"own namespace", secrets[m+1], secrets[m+1]},
			} {
				var answers []string
				for _, answer := range ask(place.from, mode, place.secret) {
					refused := strings.HasPrefix(answer, "403") || strings.HasPrefix(answer, "422")
					if refused != (mode == "enforce") && !strings.HasPrefix(answer, "422") { // what the schema refuses, it does in each mode
						t.Errorf("%s, %s, mode %s: refused %v: %s", place.name, situation.name, mode, refused, answer)
					}
					answers = append(answers, ownTime.ReplaceAllString(ownUID.ReplaceAllString(strings.ReplaceAll(answer, place.secret, "SECRET"), "UID"), "TIME"))
				}
				asked := place.name + ", mode " + mode
				if i == 0 {
					first[asked] = answers
				}
				if diff := cmp.Diff(first[asked], answers); diff != "" {
					t.Errorf("%s, answers (-%s +%s):\n%s", asked, situations[0].name, situation.name, diff)
				}
			}
		}
	}
}

// ownUID and ownTime are what the API server gives to each object that it is asked to create.
var (
	ownUID  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	ownTime = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// rawClient sees answers as they are sent.
type rawClient struct {
	host   string
	client *nethttp.Client
}

func (s *site) raw(t testing.TB) *rawClient {
	t.Helper()
	config := rest.CopyConfig(s.plane.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: tenant, Groups: []string{"system:authenticated"}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &rawClient{host: strings.TrimSuffix(config.Host, "/"), client: client}
}

// create sends an HTTPRoute, and returns the status, the warnings and the body of the
// answer.
func (c *rawClient) create(t testing.TB, namespace, spec, query string) string {
	t.Helper()
	return c.createAt(t, http, namespace, spec, query)
}

// createAt sends a route of any kind.
func (c *rawClient) createAt(t testing.TB, e endpoint, namespace, spec, query string) string {
	t.Helper()
	resource := e.resource()
	body := fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "asked"}, "spec": %s}`, resource.GroupVersion(), e.kind, spec)
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/%s%s", c.host, resource.GroupVersion(), namespace, resource.Resource, query)
	request, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return fmt.Sprintf("%s\n%s\n%s", response.Status, strings.Join(response.Header.Values("Warning"), "\n"), answer)
}
