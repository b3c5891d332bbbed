package webhook

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// ruleIDs returns the rule IDs that the texts end with.
func ruleIDs(texts []string) []string {
	var ids []string
	for _, text := range texts {
		ids = append(ids, strings.TrimSuffix(text[strings.LastIndex(text, "(")+1:], ")"))
	}
	return ids
}

func TestValidating(t *testing.T) {
	handler := Validating(options(t, world(t, cluster)), newEngine(t, nil))
	type result struct {
		Code     int32
		Reason   metav1.StatusReason
		Causes   []string // type, field and rule
		Warnings []string // rules
		Audit    string
	}
	for _, test := range []struct {
		name string
		ask  admission
		want result
	}{
		{name: "good", ask: admission{object: routeOn(onCart)}},
		{name: "on a Gateway", ask: admission{object: routeOn(`{name: gateway}`)}},
		{
			name: "deleted", ask: admission{operation: "DELETE", old: routeOn(onCart)},
		},
		{
			name: "subresource", ask: admission{operation: "UPDATE", subResource: "status", object: routeOn(`{group: "", kind: Service, name: headless}`)},
		},
		{
			name: "all at once, by field",
			ask: admission{object: routeOn(`{group: "", kind: Service, name: missing}, {group: "", kind: Service, name: headless},
				{group: core, kind: Service, name: cart}`)},
			want: result{
				Code: 422, Reason: metav1.StatusReasonInvalid,
				Causes: []string{
					"FieldValueNotFound spec.parentRefs[0].name parent-not-found",
					"FieldValueInvalid spec.parentRefs[1].name parent-headless",
					"FieldValueInvalid spec.parentRefs[2].group parent-group-invalid",
				},
				Audit: "parent-not-found spec.parentRefs[0].name deny, parent-headless spec.parentRefs[1].name deny, " +
					"parent-group-invalid spec.parentRefs[2].group deny",
			},
		},
		{
			name: "forbidden",
			ask:  admission{object: strings.ReplaceAll(routeOn(`{group: "", kind: Service, name: cart, namespace: shop}`), "shop, uid", "nobody, uid")},
			want: result{
				Code: 403, Reason: metav1.StatusReasonForbidden,
				Causes: []string{"FieldValueForbidden spec.parentRefs[0] grant-missing"},
				Audit:  "grant-missing spec.parentRefs[0] deny",
			},
		},
		{
			name: "denied with a warning",
			ask:  admission{object: strings.Replace(routeOn(`{group: "", kind: Service, name: headless}`), "spec: {", "spec: {hostnames: [example.com], ", 1)},
			want: result{
				Code: 422, Reason: metav1.StatusReasonInvalid,
				Causes:   []string{"FieldValueInvalid spec.parentRefs[0].name parent-headless"},
				Warnings: []string{"hostnames-ignored"},
				Audit:    "hostnames-ignored spec.hostnames warn, parent-headless spec.parentRefs[0].name deny",
			},
		},
		{
			name: "dry run",
			ask:  admission{dryRun: true, object: routeOn(`{group: "", kind: Service, name: missing}`)},
			want: result{Warnings: []string{"parent-not-found"}, Audit: "parent-not-found spec.parentRefs[0].name warn (dry-run)"},
		},
		{
			name: "existing problem",
			ask: admission{
				operation: "UPDATE", object: routeOn(`{group: "", kind: Service, name: headless}`),
				old: routeOn(`{name: gateway}, {group: "", kind: Service, name: headless}`),
			},
			want: result{Warnings: []string{"parent-headless"}, Audit: "parent-headless spec.parentRefs[0].name warn (update)"},
		},
		{
			name: "grant withdrawn, spec unchanged",
			ask: admission{
				operation: "UPDATE",
				object:    strings.ReplaceAll(routeOn(`{kind: Service, group: "", name: cart, port: 80.0, later: {a: 1, b: 2}}`), "shop, uid", "nobody, uid"),
				old:       strings.ReplaceAll(routeOn(`{group: "", name: cart, later: {b: 2, a: 1}, port: 80, kind: Service}`), "shop, uid", "nobody, uid"),
			},
		},
		{
			name: "grant withdrawn, a field that is not read changed",
			ask: admission{
				operation: "UPDATE",
				object:    strings.ReplaceAll(routeOn(`{group: "", kind: Service, name: cart, later: 1}`), "shop, uid", "nobody, uid"),
				old:       strings.ReplaceAll(routeOn(`{group: "", kind: Service, name: cart, later: 2}`), "shop, uid", "nobody, uid"),
			},
			want: result{
				Code: 403, Reason: metav1.StatusReasonForbidden,
				Causes: []string{"FieldValueForbidden spec.parentRefs[0] grant-missing"},
				Audit:  "grant-missing spec.parentRefs[0] deny",
			},
		},
		{
			name: "no route",
			ask:  admission{object: `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}`},
			want: result{Code: 400, Reason: metav1.StatusReasonBadRequest},
		},
		{
			name: "field of the wrong type",
			ask:  admission{object: strings.Replace(routeOn(onCart), "parentRefs: [", "hostnames: 5, parentRefs: [", 1)},
			want: result{Code: 400, Reason: metav1.StatusReasonBadRequest},
		},
		{
			name: "no object",
			want: result{Code: 400, Reason: metav1.StatusReasonBadRequest},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := ask(t, handler, test.ask)
			var got result
			if (response.Result == nil) != response.Allowed {
				t.Errorf("allowed is %v with status %v", response.Allowed, response.Result)
			}
			if status := response.Result; status != nil {
				got.Code, got.Reason = status.Code, status.Reason
				if status.Details != nil {
					for _, cause := range status.Details.Causes {
						got.Causes = append(got.Causes, string(cause.Type)+" "+cause.Field+" "+ruleIDs([]string{cause.Message})[0])
					}
				}
			}
			got.Warnings, got.Audit = ruleIDs(response.Warnings), response.AuditAnnotations["findings"]
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, response.Result)
			}
		})
	}
}

// TestDenialIsWholeStatus compares a denial in full.
func TestDenialIsWholeStatus(t *testing.T) {
	engine := newEngine(t, nil)
	request := admission{object: routeOn(`{group: "", kind: Service, name: headless}`)}
	review, err := decodeReview(request.body(t))
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := engine.Judge(review.toJudge(), world(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	response := ask(t, Validating(options(t, world(t, cluster)), engine), request)
	body := `Invalid value: "headless": ` + verdict.Findings[0].Message()
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: `HTTPRoute.gateway.networking.k8s.io "web" is invalid: spec.parentRefs[0].name: ` + body,
		Details: &metav1.StatusDetails{
			Group: mesh.GatewayGroup, Kind: "HTTPRoute", Name: "web", UID: "u1",
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.parentRefs[0].name", Message: body}},
		},
	}
	if diff := cmp.Diff(want, response.Result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfirmForbidden: where gammaguard may not read, the answer says who can fix that, as the page on troubleshooting
// has it, and asks nobody to try again.
func TestConfirmForbidden(t *testing.T) {
	o := options(t, world(t, ""))
	o.Live = &source{Reader: world(t, cluster), fail: fmt.Errorf("read Namespace shop: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "shop", errors.New("no")))}
	response := ask(t, Validating(o, newEngine(t, nil)), admission{object: routeOn(onCart)})
	const message = "gammaguard could not verify the route, because it lacks a permission; a platform engineer must apply its manifests again: "
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError,
		Message: message + `read Namespace shop: namespaces "shop" is forbidden: no`,
	}
	if diff := cmp.Diff(want, response.Result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), message) {
		t.Error("docs/troubleshooting.md does not have the message")
	}
}

// TestConfirm: the cache and the API server disagree, and the API server is right;
// each denial is asked about there, and nothing else is.
func TestConfirm(t *testing.T) {
	const granted = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {gammaguard.dev/grant: all}}\n---\n"
	headless := strings.Replace(cluster, "{clusterIP: 10.0.0.1, ", "{clusterIP: None, ", 1)
	for _, test := range []struct {
		name       string
		cache, now string
		parents    string
		actions    map[string]validate.Action
		denied     string
		reads      []string
	}{
		{name: "nothing to confirm", cache: cluster, now: granted, parents: onCart},
		{
			name: "all is new", cache: "", now: cluster, parents: onCart,
			reads: []string{"Namespace shop", "Service shop/cart"},
		},
		{name: "the Service is new", cache: granted, now: cluster, parents: onCart, reads: []string{"Namespace shop", "Service shop/cart"}},
		{
			name: "the Service is no longer headless", cache: headless, now: cluster, parents: onCart,
			reads: []string{"Namespace shop", "Service shop/cart"},
		},
		{
			name: "right, and confirmed", cache: cluster, now: cluster, parents: `{group: "", kind: Service, name: missing}`,
			denied: "parent-not-found", reads: []string{"Namespace shop", "Service shop/missing"},
		},
		{
			name: "a new ground", cache: strings.ReplaceAll(granted, "grant: all", "grant: none"),
			now: headless, parents: onCart, denied: "parent-headless",
			reads: []string{"Namespace shop", "Service shop/cart"},
		},
		{
			name: "grant withdrawn since", cache: granted, now: strings.ReplaceAll(cluster, "grant: all", "grant: none"), parents: onCart,
			denied: "grant-missing", reads: []string{"Namespace shop", "Service shop/cart"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := &source{Reader: world(t, test.now)}
			o := options(t, world(t, test.cache))
			o.Live = now
			response := ask(t, Validating(o, newEngine(t, test.actions)), admission{object: routeOn(test.parents)})
			denied := ""
			if !response.Allowed {
				denied = ruleIDs([]string{response.Result.Message})[0]
			}
			slices.Sort(now.reads)
			if denied != test.denied {
				t.Errorf("denied by %q, want %q: %v", denied, test.denied, response.Result)
			}
			if diff := cmp.Diff(test.reads, now.reads, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("live reads (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfirmFails: what cannot be confirmed is neither denied nor admitted.
func TestConfirmFails(t *testing.T) {
	o := options(t, world(t, ""))
	o.Live = &source{Reader: world(t, cluster), fail: errors.New("connection refused")}
	response := ask(t, Validating(o, newEngine(t, nil)), admission{object: routeOn(onCart)})
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError,
		Message: "gammaguard could not verify the route, try again: connection refused",
		Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	}
	if response.Allowed {
		t.Error("admitted")
	}
	if diff := cmp.Diff(want, response.Result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
