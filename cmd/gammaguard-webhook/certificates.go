package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/certs/certmanager"
	"github.com/gammaguard/gammaguard/certs/selfmanaged"
)

// The values of --cert-source.
const (
	sourceFiles       = "files"
	sourceSelfManaged = "self-managed"
)

// certificateFlags say where the serving certificate comes from.
type certificateFlags struct {
	source      string
	service     objectName
	certificate objectName
	secret      objectName
	webhooks    string
}

func (f *certificateFlags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.source, "cert-source", sourceFiles, "certificate source: files (those in --cert-dir, for example from a mounted Secret) or self-managed")
	set.Var(&f.service, "webhook-service", "namespace/name of the webhook Service; the serving certificate must be valid for its DNS name (default: not checked)")
	set.Var(&f.certificate, "cert-manager-certificate", "with --cert-source=files: namespace/name of the cert-manager Certificate whose conditions readiness reports")
	set.Var(&f.secret, "cert-secret", "with --cert-source=self-managed: namespace/name of the Secret for the CA and the serving certificate; it must exist, but may be empty")
	set.StringVar(&f.webhooks, "webhook-configurations", "gammaguard", "with --cert-source=self-managed: name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration that get the CA bundle")
}

// check rejects values that would only fail later.
func (f *certificateFlags) check() error {
	switch f.source {
	case sourceFiles:
		if f.secret.isSet() {
			return errors.New("--cert-secret: requires --cert-source=self-managed")
		}
	case sourceSelfManaged:
		if f.certificate.isSet() {
			return errors.New("--cert-manager-certificate: requires --cert-source=files")
		}
		for _, needed := range []struct {
			flag string
			name *objectName
		}{{"--cert-secret", &f.secret}, {"--webhook-service", &f.service}} {
			if !needed.name.isSet() {
				return fmt.Errorf("%s: required with --cert-source=self-managed", needed.flag)
			}
		}
		if f.webhooks == "" {
			return errors.New("--webhook-configurations: must not be empty")
		}
	default:
		return fmt.Errorf("--cert-source: %q is not a valid source, use %s or %s", f.source, sourceFiles, sourceSelfManaged)
	}
	return nil
}

// host returns the DNS name that the API server calls the Service by; empty
// without one.
func (f *certificateFlags) host() string {
	if !f.service.isSet() {
		return ""
	}
	return f.service.Name + "." + f.service.Namespace + ".svc"
}

// from returns who fills the folder, nil for somebody who cannot be asked.
func (f *certificateFlags) from(dir string) certs.Source {
	switch {
	case f.source == sourceSelfManaged:
		return selfmanaged.New(selfmanaged.Options{
			Dir: dir, Secret: f.secret.NamespacedName, Host: f.host(), Webhooks: f.webhooks,
		})
	case f.certificate.isSet():
		return certmanager.New(f.certificate.NamespacedName)
	}
	return nil
}

// objectName is a flag's value: "namespace/name", or empty.
type objectName struct{ types.NamespacedName }

func (n *objectName) isSet() bool { return n.Name != "" }

// Type implements pflag.Value.
func (*objectName) Type() string { return "namespace/name" }

// String implements pflag.Value.
func (n *objectName) String() string {
	if !n.isSet() {
		return ""
	}
	return n.NamespacedName.String()
}

// Set implements pflag.Value.
func (n *objectName) Set(text string) error {
	namespace, name, found := strings.Cut(text, "/")
	if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q is not a valid namespace/name", text)
	}
	n.Namespace, n.Name = namespace, name
	return nil
}
