package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// reportName is the name of the Report in each namespace, and its source.
const reportName = "gammaguard"

// maxResults and maxMessage bound a Report, which must fit into an object: they make it
// about half a megabyte at most.
const (
	maxResults = 500
	maxMessage = 512
)

// The label and the annotation of a Report: who writes it, and a checksum of what it says.
const (
	managedByLabel     = "app.kubernetes.io/managed-by"
	checksumAnnotation = "gammaguard.dev/checksum"
)

// reportOn returns the Report about the routes of the namespace. It is the same for the same
// findings, but for its timestamps.
func reportOn(namespace string, routes []audited, version func(mesh.RouteKind) string, now metav1.Timestamp) *openreports.Report {
	report := &openreports.Report{
		TypeMeta: metav1.TypeMeta{APIVersion: openreports.SchemeGroupVersion.String(), Kind: "Report"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: reportName, Labels: map[string]string{managedByLabel: reportName},
		},
		Source:        reportName,
		Configuration: &openreports.ReportConfiguration{Limits: openreports.Limits{MaxResults: maxResults}},
	}
	for i := range routes {
		route := &routes[i]
		subject := corev1.ObjectReference{
			APIVersion: mesh.GatewayGroup + "/" + version(route.kind), Kind: string(route.kind),
			Namespace: namespace, Name: route.metadata.Name, UID: types.UID(route.metadata.UID),
		}
		if len(route.findings) == 0 {
			report.Summary.Pass++
		}
		for j := range route.findings {
			result := route.findings[j].result(&subject)
			switch result.Result {
			case "fail":
				report.Summary.Fail++
			case "warn":
				report.Summary.Warn++
			}
			if len(report.Results) < maxResults {
				report.Results = append(report.Results, result)
			}
		}
	}
	report.Annotations = map[string]string{checksumAnnotation: checksum(report)}
	for i := range report.Results {
		report.Results[i].Timestamp = now
	}
	return report
}

// result returns the finding as OpenReports has it. A rule that denies fails whatever the
// mode is, as in the metric.
func (f *finding) result(subject *corev1.ObjectReference) openreports.ReportResult {
	result := openreports.ReportResult{
		Policy: reportName, Rule: f.rule, Category: "Service Mesh", Result: "warn", Severity: "info",
		Subjects: []corev1.ObjectReference{*subject}, Description: f.message,
		Properties: map[string]string{"action": string(f.action), "effect": string(f.effect), "field": f.field},
	}
	switch f.action {
	case validate.Deny:
		result.Result, result.Severity, result.Scored = "fail", "high", true
	case validate.Warn:
		result.Severity = "medium"
	}
	return result
}

func checksum(report *openreports.Report) string {
	text, err := json.Marshal(report)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
