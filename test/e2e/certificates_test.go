//go:build e2e

package e2e

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

const (
	// servingCertificate and caCertificate are cert-manager's Certificates, and
	// certificateSecret is the Secret of the former; self-managed, it is gammaguard's.
	servingCertificate = "gammaguard-serving-cert"
	caCertificate      = "gammaguard-ca"
	certificateSecret  = "gammaguard-webhook-cert"

	// renewals is how often a certificate is renewed under load.
	renewals = 4
	// mountDelay bounds the time until a Secret's change is in the Pods' files: the
	// kubelet looks every ten seconds or so (test/node/files), and less often under load.
	mountDelay = 150 * time.Second
)

// certManagerTests are the tests that config/default has beside every overlay's.
func certManagerTests(t *testing.T, _ *overlay) {
	t.Run("certificates under load", func(t *testing.T) {
		l := startLoad(t)
		for range renewals {
			renew(t, servingCertificate)
			pause(t, 2*time.Second)
		}
		renew(t, caCertificate)
		renew(t, servingCertificate)
		waitServed(t)
		l.end(t)
	})
	t.Run("loss of the CA", testLostCA)
	t.Run("every kind has its status", testKinds)
	t.Run("parents of other implementations are looked for", testOtherParents)
	t.Run("what overrides routes is looked for", testOverridden)
	t.Run("disruptions", testDisruptions)
	t.Run("broken configurations", testBrokenConfigurations)
	t.Run("broken certificates", testBrokenCertificates)
}

// testLostCA follows the runbook: another CA signs what the Pods serve, and the API server
// trusts it.
func testLostCA(t *testing.T) {
	before := secretEntry(t, "ca.crt")
	runbook(t, "### With cert-manager", "config/default")
	waitForOldPods(t)
	waitServed(t)
	if secretEntry(t, "ca.crt") == before {
		t.Error("the CA is the one that was lost")
	}
	waitFor(t, "the webhooks are called", time.Minute, func() error {
		return applies(t, route("HTTPRoute", "probe", cartParent))
	})
	mustKubectl(t, "", "delete", "httproute", "-n", "shop", "probe")
	refused(t, route("HTTPRoute", "bad", headlessParent), "parent-headless")
}

// selfManagedTests are those of config/overlays/self-managed.
func selfManagedTests(t *testing.T, _ *overlay) {
	t.Run("certificates under load", func(t *testing.T) {
		l := startLoad(t)
		for range renewals {
			dropFromSecret(t, "tls.crt", "tls.key")
			waitServed(t)
		}
		dropFromSecret(t, "ca.crt", "ca.key")
		waitServed(t)
		l.end(t)
	})
	t.Run("rolling restart", testRollingRestart)
	t.Run("containers killed", testKilled)
	t.Run("missing Secret", testMissingSecret)
	t.Run("a server without streamed lists", testLists)
}

// testLists has gammaguard fill its caches as it must on a server before Kubernetes
// 1.34: by lists, not by watches that begin with all there is.
func testLists(t *testing.T) {
	mustKubectl(t, "", "set", "env", "-n", system, deployment, "KUBE_FEATURE_WatchListClient=false")
	mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=120s")
	waitForOldPods(t)
	refused(t, route("HTTPRoute", "bad", headlessParent), "parent-headless")
	admitted(t, route("GRPCRoute", "taker", cartParent))
	wantStatus(t, "Conflicted")
	mustKubectl(t, "", "delete", "grpcroute", "-n", "shop", "taker")
	wantStatus(t, "")
}

// pause lets the load go on for a while: here, time is what is tested.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// dropFromSecret takes entries out of the Secret, so that the rotator makes new
// ones, and waits until it has.
func dropFromSecret(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		mustKubectl(t, "", "patch", "secret", "-n", system, certificateSecret, "--type=json", "-p",
			`[{"op":"remove","path":"/data/`+key+`"}]`)
	}
	waitFor(t, "a new certificate in the Secret", 30*time.Second, func() error {
		for _, key := range keys {
			if secretEntry(t, key) == "" {
				return fmt.Errorf("%s is missing", key)
			}
		}
		return nil
	})
}

// secretEntry returns an entry of the certificate's Secret, empty where it has
// none.
func secretEntry(t *testing.T, key string) string {
	t.Helper()
	var secret struct{ Data map[string][]byte }
	if err := json.Unmarshal([]byte(mustKubectl(t, "", "get", "secret", "-n", system, certificateSecret, "-o", "json")), &secret); err != nil {
		t.Fatal(err)
	}
	return string(secret.Data[key])
}

// waitServed waits until every Pod serves the certificate that is in the Secret.
func waitServed(t *testing.T) {
	t.Helper()
	waitFor(t, "the Pods serve the new certificate", mountDelay, func() error {
		pair, err := tls.X509KeyPair([]byte(secretEntry(t, "tls.crt")), []byte(secretEntry(t, "tls.key")))
		if err != nil {
			return err
		}
		for _, pod := range pods(t) {
			address := mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "jsonpath={.status.podIP}") + ":9443"
			connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", address) //nolint:gosec // looked at below
			if err != nil {
				return err
			}
			served := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
			_ = connection.Close()
			if !served.Equal(pair.Leaf) {
				return fmt.Errorf("Pod %s serves certificate %x, the Secret has %x", pod, served.SerialNumber, pair.Leaf.SerialNumber)
			}
		}
		return nil
	})
}

// putSecret makes a Secret of a certificate.
func putSecret(t *testing.T, name string, cert, key []byte) {
	t.Helper()
	mustKubectl(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ntype: kubernetes.io/tls\ndata: {tls.crt: %s, tls.key: %s}\n",
		name, system, base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key)), "apply", "-f", "-")
}
