//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	t.Run("containers killed", testKilled)
	t.Run("all replicas gone", testAllGone)
}

// testKilled kills each container of each Pod, one after the other. Of a server that
// is killed the requests under way are lost; of a holder nothing is.
//
// In one Pod the holder is first, so that the server's successor gets a socket that
// was handed back. Its server is killed twice: the second time the kubelet waits 10
// seconds before it starts it again.
func testKilled(t *testing.T) {
	both := pods(t)
	for _, victim := range []struct{ pod, container string }{
		{both[0], holderContainer},
		{both[0], serverContainer},
		{both[0], serverContainer},
		{both[1], serverContainer},
		{both[1], holderContainer},
	} {
		t.Run(victim.container, func(t *testing.T) {
			l, d := startLoad(t), startDials(t, victim.pod)
			restarts := statusOf(t, victim.pod, victim.container).RestartCount
			at := kill(t, victim.pod, victim.container)
			if victim.container == serverContainer {
				l.killed(at)
			}
			waitFor(t, "restart of the container", time.Minute, func() error {
				if status := statusOf(t, victim.pod, victim.container); status.RestartCount == restarts || !status.Ready {
					return errAgain
				}
				return nil
			})
			d.end(t, l.kills)
			t.Logf("ready again after %s", time.Since(at.begin).Round(time.Millisecond))
			mustKubectl(t, "", "wait", "-n", system, "pod/"+victim.pod, "--for=condition=Ready", "--timeout=120s")
			l.end(t)
		})
	}
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

// The containers of a Pod.
const (
	serverContainer = "webhook"
	holderContainer = "hold-port"
)

// statusOf returns the status of a Pod's container.
func statusOf(t *testing.T, pod, container string) corev1.ContainerStatus {
	t.Helper()
	var p corev1.Pod
	if err := json.Unmarshal([]byte(mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "json")), &p); err != nil {
		t.Fatal(err)
	}
	for _, status := range p.Status.ContainerStatuses {
		if status.Name == container {
			return status
		}
	}
	t.Fatalf("Pod %s has no container %s", pod, container)
	return corev1.ContainerStatus{}
}

// teardown is how long after its death the last connection of a process is closed.
const teardown = 200 * time.Millisecond

// kill kills a Pod's container by SIGKILL, and returns when it died.
func kill(t *testing.T, pod, container string) span {
	t.Helper()
	id := strings.TrimPrefix(statusOf(t, pod, container).ContainerID, "containerd://")
	begin := time.Now()
	if err := node.Ctr(t.Context(), "tasks", "kill", "--signal", "SIGKILL", id); err != nil {
		t.Fatal(err)
	}
	return span{begin, time.Now().Add(teardown)}
}
