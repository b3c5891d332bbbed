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
	t.Run("rolling restart", testRollingRestart)
	t.Run("a Pod deleted", func(t *testing.T) {
		l := startLoad(t)
		mustKubectl(t, "", "delete", "pod", "-n", system, pods(t)[0], "--timeout=120s")
		mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=120s")
		l.end(t)
	})
	t.Run("containers killed", testKilled)
	t.Run("all replicas gone", testAllGone)
}

// testKilled kills the container of each Pod, one after the other, and of the first
// one twice: the second time the kubelet waits 10 seconds before it starts it again.
// Until the Pod's endpoint is gone, calls of its webhooks are refused; after that none
// is, though the container is not back yet.
func testKilled(t *testing.T) {
	both := pods(t)
	for _, pod := range []string{both[0], both[0], both[1]} {
		t.Run(pod, func(t *testing.T) {
			l := startLoad(t)
			restarts := statusOf(t, pod).RestartCount
			begin := kill(t, pod)
			waitFor(t, "the kubelet's notice of it", time.Minute, func() error {
				if status := statusOf(t, pod); status.Ready && status.RestartCount == restarts {
					return errAgain
				}
				return nil
			})
			gap := span{begin, time.Now().Add(propagation)}
			if took := gap.end.Sub(gap.begin); took > mostRefused {
				t.Errorf("calls may have been refused for %s", took)
			}
			l.killed(gap)
			waitFor(t, "restart of the container", time.Minute, func() error {
				if status := statusOf(t, pod); status.RestartCount == restarts || !status.Ready {
					return errAgain
				}
				return nil
			})
			t.Logf("ready again after %s", time.Since(begin).Round(time.Millisecond))
			mustKubectl(t, "", "wait", "-n", system, "pod/"+pod, "--for=condition=Ready", "--timeout=120s")
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

// statusOf returns the status of a Pod's container.
func statusOf(t *testing.T, pod string) corev1.ContainerStatus {
	t.Helper()
	var p corev1.Pod
	if err := json.Unmarshal([]byte(mustKubectl(t, "", "get", "pod", "-n", system, pod, "-o", "json")), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Status.ContainerStatuses) != 1 {
		t.Fatalf("Pod %s: %+v", pod, p.Status)
	}
	return p.Status.ContainerStatuses[0]
}

// propagation is how long after the kubelet reports that a Pod is not ready its
// endpoint is gone from the Service's rules.
const propagation = time.Second

// mostRefused bounds the time during which calls may be refused, as in docs/availability.md.
// An idle machine takes 2 seconds, a busy one has taken 6.
const mostRefused = 10 * time.Second

// kill kills a Pod's container by SIGKILL, and returns when it began to.
func kill(t *testing.T, pod string) time.Time {
	t.Helper()
	id := strings.TrimPrefix(statusOf(t, pod).ContainerID, "containerd://")
	begin := time.Now()
	if err := node.Ctr(t.Context(), "tasks", "kill", "--signal", "SIGKILL", id); err != nil {
		t.Fatal(err)
	}
	return begin
}

// testRollingRestart puts a load on the webhooks while every Pod is replaced.
func testRollingRestart(t *testing.T) {
	l := startLoad(t)
	mustKubectl(t, "", "rollout", "restart", "-n", system, deployment)
	mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=180s")
	waitForOldPods(t)
	l.end(t)
}
