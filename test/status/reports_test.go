package status

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/audit"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

// apply applies manifests as kubectl does.
func apply(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, stderr, err := plane.Kubectl(t.Context(), "", "apply", "-f", path); err != nil {
			t.Fatalf("kubectl apply -f %s: %v: %s", path, err, stderr)
		}
	}
}

// TestReports: with the rights of the manifests, the audit reports that the definition is
// missing, writes a Report once it is there, changes it only where the findings change,
// and deletes it where no routes are left.
func TestReports(t *testing.T) {
	c := newCluster(t, "reported", mesh.GrantAll)
	route := c.route(mesh.HTTPRoute, "web", "cart:80")
	c.create(withBackends(route, map[string]any{"name": "cart"}))
	apply(t, "../../config/rbac/webhook.yaml", "../../config/components/openreports/rbac.yaml")
	config := rest.CopyConfig(plane.Config)
	config.Impersonate.UserName = "system:serviceaccount:gammaguard-system:gammaguard-webhook"

	var mu sync.Mutex
	var lines []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})
	startAuditAs(t, config, &validate.Policy{}, audit.Options{Reports: true, Log: log})
	wait(t, settleTime, "a line in the log", func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(lines) != 1 || !strings.Contains(lines[0], `the CustomResourceDefinition reports.openreports.io is not installed`) {
			return fmt.Errorf("the log has %q", lines)
		}
		return nil
	})

	module, err := bed.ModuleDir(t.Context(), "github.com/openreports/reports-api/apis/openreports.io/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, filepath.Join(module, "config", "crd", "openreports.io_reports.yaml"))
	if err := openreports.Install(c.Scheme()); err != nil {
		t.Fatal(err)
	}
	report := &openreports.Report{}
	read := func() error {
		found := &openreports.Report{}
		err := c.Get(c.ctx, client.ObjectKey{Namespace: c.namespace, Name: "gammaguard"}, found)
		report = found
		return err
	}
	expect := func(what string, summary openreports.ReportSummary) {
		t.Helper()
		wait(t, time.Minute, what, func() error {
			if err := read(); err != nil {
				return err
			}
			if diff := cmp.Diff(summary, report.Summary); diff != "" {
				return fmt.Errorf("summary (-want +got):\n%s", diff)
			}
			return nil
		})
	}
	expect("the Report", openreports.ReportSummary{Fail: 1, Warn: 1})
	result := report.Results[0]
	if result.Rule != "parent-not-found" || result.Result != "fail" || result.Subjects[0].Name != "web" || result.Subjects[0].APIVersion != "gateway.networking.k8s.io/v1" ||
		result.Properties["field"] != "spec.parentRefs[0].name" || !strings.Contains(result.Description, "(parent-not-found)") || result.Timestamp.Seconds == 0 {
		t.Errorf("the first result is %+v", result)
	}
	// The command of docs/stored-routes.md selects it.
	page, err := os.ReadFile("../../docs/stored-routes.md")
	if err != nil {
		t.Fatal(err)
	}
	deletion := regexp.MustCompile(`(?m)^kubectl (delete reports.*)$`).FindSubmatch(page)
	if deletion == nil {
		t.Fatal("docs/stored-routes.md has no command that deletes Reports")
	}
	stdout, stderr, err := plane.Kubectl(t.Context(), "", append(strings.Fields(string(deletion[1])), "--dry-run=server")...)
	if err != nil || !strings.Contains(stdout, `"gammaguard" deleted`) {
		t.Errorf("%s: %v: %s%s", deletion[0], err, stdout, stderr)
	}
	before := report.ResourceVersion
	c.merge(route, `{"spec":{"rules":[{"backendRefs":[{"name":"cart","port":80,"weight":2}]}]}}`)
	other := c.route(mesh.HTTPRoute, "other", "cart:80")
	c.create(withBackends(other, map[string]any{"name": "cart"}))
	expect("a Report of two routes", openreports.ReportSummary{Fail: 2, Warn: 2})
	if report.Generation != 2 {
		t.Errorf("generation %d of the Report, resourceVersion %s and before %s: a change without findings was written", report.Generation, report.ResourceVersion, before)
	}
	c.create(c.service("cart", 80))
	c.create(c.endpoints("cart"))
	expect("a Report of what is left", openreports.ReportSummary{Pass: 1, Warn: 1}) // both match all
	c.delete(route)
	c.delete(other)
	wait(t, time.Minute, "no Report", func() error {
		if err := read(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("there is one: %w", err)
		}
		return nil
	})
}
