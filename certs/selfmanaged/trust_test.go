package selfmanaged

import (
	"crypto/tls"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// newCA returns a CA of that age and what it signed.
func newCA(t *testing.T, age time.Duration) *certs.Bundle {
	t.Helper()
	bundle, err := selfsigned.NewAt(now.Add(-age), "gammaguard-webhook.gammaguard-system.svc")
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func TestTrustBoth(t *testing.T) {
	const day = 24 * time.Hour
	young, old, expired := newCA(t, time.Hour).CA, newCA(t, 100*day).CA, newCA(t, 400*day).CA
	join := func(bundles ...[]byte) string {
		var all []byte
		for _, bundle := range bundles {
			all = append(all, bundle...)
		}
		return string(all)
	}
	for _, test := range []struct {
		name          string
		next, current string
		want          string
		err           string
	}{
		{name: "nothing before", next: join(young), want: join(young)},
		{name: "the same", next: join(young), current: join(young), want: join(young)},
		{name: "beside the one before", next: join(young), current: join(old), want: join(young, old)},
		{name: "twice", next: join(young), current: join(young, old), want: join(young, old)},
		{name: "the one before has expired", next: join(young), current: join(old, expired), want: join(young, old)},
		{name: "no longer young", next: join(old), current: join(old, young), want: join(old)},
		{name: "rubbish before", next: join(young), current: "rubbish", want: join(young)},
		{name: "white space before", next: join(young), current: "\n", want: join(young)},
		{name: "rubbish", next: "rubbish", current: join(old), err: "CA certificate: no PEM certificate"},
		{name: "nothing", current: join(old), err: "CA certificate: no PEM certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := trustBoth([]byte(test.next), []byte(test.current), now)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff([]string{test.want, test.err}, []string{string(got), said}); diff != "" {
				t.Errorf("bundle and error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrusts(t *testing.T) {
	bundle, other := newCA(t, 0), newCA(t, 0)
	pair, err := tls.X509KeyPair(bundle.Cert, bundle.Key)
	if err != nil {
		t.Fatal(err)
	}
	const host = "gammaguard-webhook.gammaguard-system.svc"
	for _, test := range []struct {
		name, ca, host string
		at             time.Time
		want           string // part of the error; "" for none
	}{
		{name: "its CA", ca: string(bundle.CA), host: host, at: now},
		{name: "its CA among others", ca: string(other.CA) + string(bundle.CA), host: host, at: now},
		{name: "another CA", ca: string(other.CA), host: host, at: now, want: "unknown authority"},
		{name: "no CA", host: host, at: now, want: "unknown authority"},
		{name: "another host", ca: string(bundle.CA), host: "example.com", at: now, want: "not example.com"},
		{name: "expired", ca: string(bundle.CA), host: host, at: now.AddDate(2, 0, 0), want: "expired at 2027-03-04T05:06:07Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := trusts([]byte(test.ca), pair.Leaf, test.host, test.at)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// registration returns one with a webhook for each CA bundle.
func registration(bundles ...string) *unstructured.Unstructured {
	var webhooks []any
	for _, bundle := range bundles {
		config := map[string]any{"service": map[string]any{"name": "gammaguard-webhook"}}
		if bundle != "" {
			config["caBundle"] = base64.StdEncoding.EncodeToString([]byte(bundle))
		}
		webhooks = append(webhooks, map[string]any{"clientConfig": config})
	}
	return &unstructured.Unstructured{Object: map[string]any{"webhooks": webhooks}}
}

func TestInject(t *testing.T) {
	type result struct {
		Changed      bool
		Registration *unstructured.Unstructured
		Err          string
	}
	old, young := string(newCA(t, 48*time.Hour).CA), string(newCA(t, 0).CA)
	malformed := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{"x"}}}
	for _, test := range []struct {
		name          string
		before, asked *unstructured.Unstructured
		want          result
	}{
		{
			name: "first", before: registration("", ""), asked: registration(young, young),
			want: result{true, registration(young, young), ""},
		},
		{
			name: "again", before: registration(young, young), asked: registration(young, young),
			want: result{false, registration(young, young), ""},
		},
		{
			name: "another, which one webhook has already", before: registration(young, old), asked: registration(young, young),
			want: result{true, registration(young, young+old), ""},
		},
		{name: "no webhooks", before: registration(), asked: registration(), want: result{false, registration(), ""}},
		{
			name: "malformed", before: malformed, asked: registration(young),
			want: result{false, malformed, "webhooks[0]: not an object"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := result{Registration: test.before.DeepCopy()}
			var err error
			if got.Changed, err = inject(got.Registration, test.asked, now); err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
