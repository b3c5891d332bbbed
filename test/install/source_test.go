package install

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
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
	install(t, folder(t, "default"))
	bundle := fillSecret(t)
	for _, kind := range []string{"validating", "mutating"} {
		for i := range strings.Fields(kubectl(t, "get", kind+"webhookconfiguration", "gammaguard", "-o", "jsonpath={.webhooks[*].name}")) {
			kubectl(t, "patch", kind+"webhookconfiguration", "gammaguard", "--type=json", "-p",
				fmt.Sprintf(`[{"op": "add", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q}]`, i, base64.StdEncoding.EncodeToString(bundle.CA)))
		}
	}
	o.apply(t, fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: gammaguard-webhook, namespace: %s},
		spec: {holderIdentity: a-pod-of-before, leaseDurationSeconds: 3, renewTime: %q}}`, system, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))

	for _, command := range commandsOf(t, o.root, "certificates.md", "### From cert-manager to self-managed") {
		if !strings.HasPrefix(command, "helm ") {
			o.must(t, command)
		}
	}
	wantObjects(t, "overlays/self-managed")
	wantSecret(t, c, bundle)
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
