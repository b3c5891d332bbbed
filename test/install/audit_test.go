package install

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// unbound is while TestInstalled has taken the ClusterRoleBinding away, and a replica runs on.
var unbound struct{ from, until time.Time }

// wantNothingForbidden fails where the API server has forbidden gammaguard's
// ServiceAccount anything.
func wantNothingForbidden(t *testing.T) {
	t.Helper()
	log, err := os.Open(plane.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // it was only read
	own := 0
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if at := event.RequestReceivedTimestamp.Time; event.User.Username != account || event.UserAgent == thief || at.After(unbound.from) && at.Before(unbound.until) {
			continue
		}
		own++
		// Some clients name the process, which is a test here.
		if !strings.HasPrefix(event.UserAgent, "gammaguard") && !strings.HasPrefix(event.UserAgent, "install.test") {
			t.Errorf("%s %s: the User-Agent is %q", event.Verb, event.RequestURI, event.UserAgent)
		}
		if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("%s %s: %s", event.Verb, event.RequestURI, strings.TrimSpace(event.ResponseStatus.Message))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if own == 0 {
		t.Error("the audit log knows of no request of gammaguard's")
	}
}
