package main

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/certs/certmanager"
	"github.com/gammaguard/gammaguard/certs/selfmanaged"
)

func TestCertificateFlags(t *testing.T) {
	const host = "gammaguard-webhook.gammaguard-system.svc"
	certificate := types.NamespacedName{Namespace: "gammaguard-system", Name: "gammaguard-serving-cert"}
	secret := types.NamespacedName{Namespace: "gammaguard-system", Name: "gammaguard-webhook-cert"}
	for _, test := range []struct {
		name   string
		args   []string
		host   string
		source certs.Source
	}{
		{name: "defaults"},
		{name: "files for a Service", args: []string{"--webhook-service=gammaguard-system/gammaguard-webhook"}, host: host},
		{
			name: "cert-manager", args: []string{"--cert-manager-certificate=gammaguard-system/gammaguard-serving-cert"},
			source: certmanager.New(certificate),
		},
		{
			name: "self-managed",
			args: []string{
				"--cert-source=self-managed", "--cert-secret=gammaguard-system/gammaguard-webhook-cert",
				"--webhook-service=gammaguard-system/gammaguard-webhook", "--webhook-configurations=other", "--cert-dir=/certs",
			},
			host:   host,
			source: selfmanaged.New(selfmanaged.Options{Dir: "/certs", Secret: secret, Host: host, Webhooks: "other"}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := parse(test.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.host, f.certs.host()); diff != "" {
				t.Errorf("host (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(describe(test.source), describe(f.certs.from(f.server.CertDir))); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}

// describe returns what tells sources apart.
func describe(source certs.Source) string {
	if named, ok := source.(interface{ String() string }); ok {
		return named.String()
	}
	return ""
}

func TestCertificateFlagErrors(t *testing.T) {
	managed := "--cert-source=self-managed"
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown source", []string{"--cert-source=magic"}, `--cert-source: "magic" is not a valid source, use files or self-managed`},
		{"no namespace", []string{"--cert-secret=a"}, `invalid argument "a" for "--cert-secret" flag: "a" is not a valid namespace/name`},
		{"no name", []string{"--webhook-service=a/"}, `invalid argument "a/" for "--webhook-service" flag: "a/" is not a valid namespace/name`},
		{"Secret for files", []string{"--cert-secret=a/b"}, "--cert-secret: requires --cert-source=self-managed"},
		{"no Secret", []string{managed, "--webhook-service=a/b"}, "--cert-secret: required with --cert-source=self-managed"},
		{"no Service", []string{managed, "--cert-secret=a/b"}, "--webhook-service: required with --cert-source=self-managed"},
		{
			"no webhooks",
			[]string{managed, "--cert-secret=a/b", "--webhook-service=a/b", "--webhook-configurations="},
			"--webhook-configurations: must not be empty",
		},
		{
			"a Certificate for oneself",
			[]string{managed, "--cert-manager-certificate=a/b"},
			"--cert-manager-certificate: requires --cert-source=files",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(test.args, io.Discard)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
