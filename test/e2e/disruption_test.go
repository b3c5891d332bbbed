//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/node"
)

// testDisruptions puts a load on the webhooks and disturbs them in every way that
// has nothing to do with certificates. Two replicas run.
func testDisruptions(t *testing.T) {
	before := replicas(t)
	scale(t, 2)
	defer scale(t, before)
	t.Run("rolling restart", func(t *testing.T) {
		l := startLoad(t)
		mustKubectl(t, "", "rollout", "restart", "-n", system, deployment)
		mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=180s")
		waitForOldPods(t)
		l.end(t)
	})
	t.Run("a Pod deleted", func(t *testing.T) {
		l := startLoad(t)
		mustKubectl(t, "", "delete", "pod", "-n", system, pods(t)[0], "--timeout=120s")
		mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=120s")
		l.end(t)
	})
	// The port of a container that is killed is closed at once, a second or so before
	// the Service's rules leave its Pod out, and the API server calls a webhook once.
	// Applies that fall into that second fail, whatever the webhook does; made again,
	// they must not.
	t.Run("a container killed", func(t *testing.T) {
		l := startLoadThat(t, true)
		pod := pods(t)[0]
		restarts := restartsOf(t, pod)
		kill(t, pod)
		waitFor(t, "restart of the container", time.Minute, func() error {
			if restartsOf(t, pod) == restarts {
				return errAgain
			}
			return nil
		})
		mustKubectl(t, "", "wait", "-n", system, "pod/"+pod, "--for=condition=Ready", "--timeout=120s")
		l.end(t)
	})
	t.Run("all replicas gone", testAllGone)
}

// testAllGone: without gammaguard, mesh routes are refused, and routes on Gateways
// alone pass.
func testAllGone(t *testing.T) {
	before := replicas(t)
	scale(t, 0)
	mustKubectl(t, "", "wait", "-n", system, "pod", "-l", selector, "--for=delete", "--timeout=120s")
	if said, err := apply(t, route("HTTPRoute", "down", cartParent)); err == nil {
		t.Errorf("a mesh route was admitted unjudged:\n%s", said)
	}
	admitted(t, route("HTTPRoute", "down-north-south", gatewayParent))
	scale(t, before)
	waitFor(t, "the webhooks are called again", time.Minute, func() error {
		return applies(t, route("HTTPRoute", "down", cartParent))
	})
}

// selector selects gammaguard's Pods.
const selector = "app.kubernetes.io/name=gammaguard,app.kubernetes.io/component=webhook"

// pods returns the names of gammaguard's Pods that run and are not being deleted.
func pods(t *testing.T) []string {
	t.Helper()
	all := strings.Fields(mustKubectl(t, "", "get", "pods", "-n", system, "-l", selector, "-o",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}`))
	if len(all) == 0 {
		t.Fatal("gammaguard has no Pods")
	}
	return all
}

// waitForOldPods waits until Pods that are being deleted are gone.
func waitForOldPods(t *testing.T) {
	t.Helper()
	waitFor(t, "the end of the old Pods", 2*time.Minute, func() error {
		if mustKubectl(t, "", "get", "pods", "-n", system, "-l", selector, "-o",
			`go-template={{range .items}}{{if .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}`) != "" {
			return errAgain
		}
		return nil
	})
}

func restartsOf(t *testing.T, pod string) string {
	t.Helper()
	return mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
}

// kill kills the Pod's container by SIGKILL.
func kill(t *testing.T, pod string) {
	t.Helper()
	id := mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	if err := node.Ctr(t.Context(), "tasks", "kill", "--signal", "SIGKILL", strings.TrimPrefix(id, "containerd://")); err != nil {
		t.Fatal(err)
	}
}
