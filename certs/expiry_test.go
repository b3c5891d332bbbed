package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

func TestExpiry(t *testing.T) {
	var leaf *x509.Certificate
	metric := certs.NewExpiry(func() *x509.Certificate { return leaf })
	if err := testutil.CollectAndCompare(metric, strings.NewReader("")); err != nil {
		t.Error(err)
	}
	leaf = &x509.Certificate{NotAfter: time.Unix(1_800_000_000, 0)}
	want := `
		# HELP gammaguard_certificate_expiry_timestamp_seconds Time when the serving certificate expires, in seconds since 1970.
		# TYPE gammaguard_certificate_expiry_timestamp_seconds gauge
		gammaguard_certificate_expiry_timestamp_seconds 1.8e+09
	`
	if err := testutil.CollectAndCompare(metric, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(metric); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

func TestCheckHost(t *testing.T) {
	for _, test := range []struct {
		name  string
		hosts []string
		want  string
	}{
		{name: "its name", hosts: []string{"webhook.system.svc"}},
		{name: "one of its names", hosts: []string{"127.0.0.1", "other.test", "webhook.system.svc"}},
		{
			name: "others", hosts: []string{"127.0.0.1", "other.test", "webhook.system"},
			want: "is not valid for webhook.system.svc, but for other.test, webhook.system, 127.0.0.1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bundle, err := selfsigned.New(test.hosts...)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			pair, err := tls.X509KeyPair(bundle.Cert, bundle.Key)
			if err != nil {
				t.Fatal(err)
			}
			if err := certs.CheckHost(pair.Leaf, "webhook.system.svc"); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := certs.CheckHost(&x509.Certificate{}, "a.test"); err == nil || err.Error() != "is not valid for a.test, but for no host" {
		t.Errorf("no names: %v", err)
	}
}
