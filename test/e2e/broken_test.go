//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// testBrokenConfigurations rolls out configurations with a mistake. The new Pod
// says what is wrong in one line, all that it says, and is never ready; the
// others go on.
func testBrokenConfigurations(t *testing.T) {
	for _, test := range []struct{ name, guard, wrong string }{
		{"unknown field", "mood: strict", "mood"},
		{"unknown rule", "rules: {parent-not-fuond: warn}", "parent-not-fuond"},
	} {
		t.Run(test.name, func(t *testing.T) {
			mustKubectl(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken, namespace: "+system+"}\ndata:\n"+
				"  guard.yaml: |\n    apiVersion: gammaguard.dev/v1alpha1\n    kind: GuardConfiguration\n    "+test.guard+"\n", "apply", "-f", "-")
			pod := rollOut(t, `{"spec":{"template":{"spec":{"volumes":[{"name":"config","configMap":{"name":"broken"}}]}}}}`)
			waitFor(t, "the Pod says what is wrong", time.Minute, func() error { return saysOnly(t, pod, test.wrong) })
			wantNotReady(t, pod)
		})
	}
}

// testBrokenCertificates rolls out Pods whose certificate cannot be served. They
// say why in one line, and are not ready; the others go on.
func testBrokenCertificates(t *testing.T) {
	expired, err := selfsigned.NewAt(time.Now().AddDate(-2, 0, 0), "gammaguard-webhook."+system+".svc")
	if err != nil {
		t.Fatal(err)
	}
	putSecret(t, "expired", expired.Cert, expired.Key)
	wrong, err := selfsigned.New("elsewhere.example")
	if err != nil {
		t.Fatal(err)
	}
	putSecret(t, "wrong", wrong.Cert, wrong.Key)
	for _, test := range []struct{ name, secret, says string }{
		{"missing Secret", "missing", "has no tls.crt"},
		{"expired certificate", "expired", "expired at"},
		{"certificate for another host", "wrong", "elsewhere.example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := rollOut(t, `{"spec":{"template":{"spec":{"volumes":[{"name":"certs","secret":{"secretName":"`+test.secret+`"}}]}}}}`)
			waitFor(t, "the Pod says what is wrong", time.Minute, func() error { return saysOnce(t, pod, test.says) })
			wantNotReady(t, pod)
		})
	}
}

// testMissingSecret deletes the Secret that gammaguard fills: the Pods that have a
// certificate go on, a new one says what is missing, until the Secret is back.
func testMissingSecret(t *testing.T) {
	mustKubectl(t, "", "delete", "secret", "-n", system, certificateSecret)
	pod := rollOut(t, `{"spec":{"template":{"metadata":{"annotations":{"test":"missing-secret"}}}}}`)
	waitFor(t, "the Pod says what is wrong", time.Minute, func() error { return saysOnce(t, pod, "Secret "+system+"/"+certificateSecret+" not found") })
	wantNotReady(t, pod)
	admitted(t, route("HTTPRoute", "meanwhile", cartParent))
	mustKubectl(t, "", "apply", "-f", "config/components/self-managed/secret.yaml")
	mustKubectl(t, "", "wait", "-n", system, "pod/"+pod, "--for=condition=Ready", "--timeout=120s")
}

// rollOut patches the Deployment for the time of a test, and returns the name of
// the Pod that comes of it.
func rollOut(t *testing.T, patch string) string {
	t.Helper()
	before := pods(t)
	mustKubectl(t, "", "patch", "-n", system, deployment, "-p", patch)
	t.Cleanup(func() {
		mustKubectl(t, "", "rollout", "undo", "-n", system, deployment)
		mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=180s")
		waitForOldPods(t)
	})
	var pod string
	waitFor(t, "a new Pod", time.Minute, func() error {
		for _, name := range pods(t) {
			if !slices.Contains(before, name) {
				pod = name
				return nil
			}
		}
		return errAgain
	})
	return pod
}

// log returns the lines of a Pod's log.
func log(t *testing.T, pod string) []string {
	t.Helper()
	out, _, err := kubectl(t, "", "logs", "-n", system, pod)
	if err != nil {
		return nil // the container has not started
	}
	return lines(out)
}

// saysOnly returns an error unless the Pod's log is one line with the text.
func saysOnly(t *testing.T, pod, text string) error {
	t.Helper()
	if said := log(t, pod); len(said) != 1 || !strings.Contains(said[0], text) {
		return fmt.Errorf("want one line with %q, got:\n%s", text, strings.Join(said, "\n"))
	}
	return nil
}

// saysOnce returns an error unless one line of the Pod's log has the text.
func saysOnce(t *testing.T, pod, text string) error {
	t.Helper()
	said := log(t, pod)
	if n := len(slices.DeleteFunc(slices.Clone(said), func(line string) bool { return !strings.Contains(line, text) })); n != 1 {
		return fmt.Errorf("want one line with %q, got %d:\n%s", text, n, strings.Join(said, "\n"))
	}
	return nil
}

// wantNotReady fails if the Pod is ready, or the others no longer answer.
func wantNotReady(t *testing.T, pod string) {
	t.Helper()
	if ready := mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`); ready != "False" {
		t.Errorf("Pod %s is ready: %q", pod, ready)
	}
	refused(t, route("HTTPRoute", "bad", headlessParent), "parent-headless")
}
