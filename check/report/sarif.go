package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/gammaguard/gammaguard/check/explain"
	"github.com/gammaguard/gammaguard/validate"
)

// Where the program, and the page of each rule, are found.
const (
	informationURI = "https://github.com/gammaguard/gammaguard"
	rulePage       = informationURI + "/blob/main/docs/rules/"
)

// SARIF writes the report as a SARIF 2.1.0 log of this version of the program.
// Relative file names are meant to be relative to the root of the sources, as code
// scanning takes them.
func (r *CheckReport) SARIF(w io.Writer, version string) error {
	run := sarif.NewRunWithInformationURI("gammaguard", informationURI)
	run.Tool.Driver.WithVersion(version)
	for _, topic := range explain.Topics() {
		describe(run.AddRule(topic.ID), &topic)
	}
	for _, i := range r.items() {
		i.result(run.CreateResultForRule(i.id))
	}
	log := sarif.NewReport()
	log.AddRun(run)
	return log.PrettyWrite(w)
}

func describe(rule *sarif.ReportingDescriptor, topic *explain.Topic) {
	effect := validate.Action(topic.Default)
	if topic.Class == explain.Mutation {
		effect = validate.Warn
	}
	rule.WithDescription(topic.Title).
		WithFullDescription(sarif.NewMultiformatMessageString().WithText(topic.Rationale)).
		WithHelp(sarif.NewMultiformatMessageString().WithText(topic.Rationale + "\n\n" + topic.Remedy).WithMarkdown(topic.Rationale + "\n\n**How to fix:** " + topic.Remedy)).
		WithHelpURI(rulePage + topic.ID + ".md").
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(levels[effect].sarif))
}

// result describes the item.
func (i *item) result(result *sarif.Result) {
	location := sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(artifact(i.File)).
		WithRegion(sarif.NewRegion().WithStartLine(i.Line)))
	if i.object != "" {
		location.AddLogicalLocation(sarif.NewLogicalLocation().
			WithFullyQualifiedName(i.object + " " + i.field).WithName(i.field).WithKind("member"))
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{i.id, i.File, i.object, i.field, i.text}, "\x00"))) // the same when lines move
	result.WithLevel(levels[i.effect].sarif).
		WithMessage(sarif.NewTextMessage(i.named())).
		AddLocation(location).
		WithPartialFingerprints(map[string]string{"gammaguard/v1": hex.EncodeToString(sum[:16])})
	switch i.effect {
	case EffectUnknown:
		result.WithKind("open")
	case validate.Off:
		result.AddSuppression(sarif.NewSuppression().WithKind("inSource").WithJustification("silenced by the route's gammaguard.dev/ignore annotation"))
	}
}

// artifact returns the location of a file: relative ones to the sources' root.
func artifact(file string) *sarif.ArtifactLocation {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		return sarif.NewSimpleArtifactLocation((&url.URL{Scheme: "file", Path: path}).String())
	}
	return sarif.NewSimpleArtifactLocation((&url.URL{Path: path}).String()).WithURIBaseID("%SRCROOT%")
}
