package install

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/test/kustomize"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// TestChangeSource follows docs/certificates.md from cert-manager to self-managed, on which no call fails, and back. Of the
// source of before, no object is left.
func TestChangeSource(t *testing.T) {
	c, o := admin(t), newOperator(t)
	o.root = checkout(t, o.root)
	install(t, folder(t, "default"))
	bundle := fillSecret(t)
	o.trust(t, bundle.CA)
	o.apply(t, fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: gammaguard-webhook, namespace: %s},
		spec: {holderIdentity: a-pod-of-before, leaseDurationSeconds: 3, renewTime: %q}}`, system, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))

	for _, command := range commandsOf(t, o.root, "certificates.md", "### From cert-manager to self-managed") {
		if !strings.HasPrefix(command, "helm ") {
			o.must(t, command)
		}
	}
	wantObjects(t, "overlays/self-managed")
	wantSecret(t, c, bundle)
	const certificate = "gammaguard-system/gammaguard-serving-cert"
	o.apply(t, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: gammaguard-serving-cert, namespace: gammaguard-system}, spec: {secretName: x, issuerRef: {name: x}}}`)
	o.wants(t, "gammaguard preflight --installed", 4, "; cert-manager overwrites the Secret gammaguard-system/gammaguard-webhook-cert too: delete the Certificate "+certificate)
	kubectl(t, "delete", "certificate", "-n", system, "gammaguard-serving-cert")
	o.wants(t, "gammaguard preflight --installed | grep -c '"+certificate+"'", 1, "^0\n")
	r := startReplica(t)
	r.serve(t)
	if files(t, certs.CertFile, r) != string(bundle.Cert) {
		t.Error("before it leads, the replica does not serve the certificate of cert-manager")
	}
	calls := startCaller(t, c, r)
	awaitOther(t, certs.CAFile, string(bundle.CA), r)
	leaf := files(t, certs.CertFile, r)
	renew(t, certs.CertFile)
	awaitOther(t, certs.CertFile, leaf, r)
	calls.stop()
	for wrong := range calls.wrong {
		t.Error(wrong)
	}
	r.stop()

	for _, command := range commandsOf(t, o.root, "certificates.md", "### From self-managed to cert-manager") {
		o.must(t, command)
	}
	kubectl(t, "delete", "secret", "-n", system, secretKey.Name) // cert-manager keeps it
	wantObjects(t, "default")
}

// trust runs the command of the page that has each webhook trust the CA.
func (o *operator) trust(t *testing.T, ca []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.root, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range commandsOf(t, o.root, "certificates.md", "## By other means") {
		o.must(t, command)
	}
	for _, kind := range []string{"validating", "mutating"} {
		webhooks := kubectl(t, "get", kind+"webhookconfiguration", "gammaguard", "-o", `jsonpath={range .webhooks[*]}{.name} {.clientConfig.caBundle}{"\n"}{end}`)
		for line := range strings.Lines(webhooks) {
			if name, trusted, _ := strings.Cut(strings.TrimSpace(line), " "); trusted != base64.StdEncoding.EncodeToString(ca) {
				t.Errorf("%s trusts %q", name, trusted)
			}
		}
	}
}

// fillSecret makes the Secret as cert-manager does.
func fillSecret(t *testing.T) *certs.Bundle {
	t.Helper()
	bundle, err := selfsigned.New(host)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{certs.CAFile: bundle.CA, certs.CertFile: bundle.Cert, certs.KeyFile: bundle.Key}}
	secret.Namespace, secret.Name = system, secretKey.Name
	if err := admin(t).Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return bundle
}

// wantSecret wants that the Secret has kept what cert-manager made.
func wantSecret(t *testing.T, c client.Client, bundle *certs.Bundle) {
	t.Helper()
	var secret corev1.Secret
	if err := c.Get(t.Context(), secretKey, &secret); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(secret.Data[certs.CertFile], bundle.Cert) || !bytes.Equal(secret.Data[certs.KeyFile], bundle.Key) {
		t.Error("the Secret has lost the certificate")
	}
}

// wantObjects wants that what is installed is what the overlay has.
func wantObjects(t *testing.T, overlay string) {
	t.Helper()
	built, err := kustomize.Build(overlay)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, object := range built {
		want = append(want, fmt.Sprintf("%s/%s", object["kind"], object["metadata"].(fields)["name"]))
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), slices.Sorted(maps.Keys(versions(t)))); diff != "" {
		t.Errorf("%s (-overlay +cluster)\n%s", overlay, diff)
	}
}
