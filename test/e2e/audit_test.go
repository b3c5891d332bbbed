//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// serviceAccount is who gammaguard is.
const serviceAccount = "system:serviceaccount:gammaguard-system:gammaguard-webhook"

// auditLog is the part of the API server's audit log since it was opened.
type auditLog struct{ file *os.File }

// openAuditLog returns the audit log from here on.
func openAuditLog(t *testing.T) *auditLog {
	t.Helper()
	file, err := os.Open(clusterFile(t, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return &auditLog{file}
}

// own returns gammaguard's own requests since the last call.
func (l *auditLog) own(t *testing.T) []auditv1.Event {
	t.Helper()
	var own []auditv1.Event
	scanner := bufio.NewScanner(l.file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			t.Fatalf("audit log: %v", err)
		}
		if event.User.Username == serviceAccount {
			own = append(own, event)
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return own
}

// wantNoForbidden fails where RBAC forbade a request.
func wantNoForbidden(t *testing.T, events []auditv1.Event) {
	t.Helper()
	for i := range events {
		if status := events[i].ResponseStatus; status != nil && status.Code == http.StatusForbidden {
			t.Errorf("RBAC forbade %s %s: %s", events[i].Verb, events[i].RequestURI, status.Message)
		}
	}
}
