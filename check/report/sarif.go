package report

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// Descriptor describes a rule, or mutation, in the SARIF form.
type Descriptor struct {
	ID, Title, Rationale, Remedy string
	// Default is the rule's default effect.
	Default Effect
}

// Tool is what the SARIF form says about the program.
type Tool struct {
	Version string
	// Descriptors are of all IDs that a report may name.
	Descriptors []Descriptor
}

// Where the program, and the page of each rule, are found.
const (
	informationURI = "https://github.com/gammaguard/gammaguard"
	rulePage       = informationURI + "/blob/main/docs/rules/"
)

// SARIF writes the report as a SARIF 2.1.0 log. Relative file names are meant to
// be relative to the root of the sources, as code scanning takes them.
func (r *CheckReport) SARIF(w io.Writer, tool Tool) error {
	run := sarif.NewRunWithInformationURI("gammaguard", informationURI)
	run.Tool.Driver.WithVersion(tool.Version)
	for _, d := range tool.Descriptors {
		run.AddRule(d.ID).
			WithShortDescription(sarif.NewMultiformatMessageString().WithText(d.Title)).
			WithFullDescription(sarif.NewMultiformatMessageString().WithText(d.Rationale)).
			WithHelp(sarif.NewMultiformatMessageString().WithText(d.Rationale + "\n\n" + d.Remedy).WithMarkdown(d.Rationale + "\n\n**To mend it:** " + d.Remedy)).
			WithHelpURI(rulePage + d.ID + ".md").
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(level(d.Default)))
	}
	for _, i := range r.items() {
		run.AddResult(result(run, &i))
	}
	log := sarif.NewReport()
	log.AddRun(run)
	return log.PrettyWrite(w)
}

func result(run *sarif.Run, i *item) *sarif.Result {
	text := i.text
	physical := sarif.NewPhysicalLocation().
		WithArtifactLocation(artifact(i.File)).
		WithRegion(sarif.NewRegion().WithStartLine(i.Line))
	location := sarif.NewLocationWithPhysicalLocation(physical)
	if i.object != "" {
		text = i.object + ": " + text
		location.AddLogicalLocation(sarif.NewLogicalLocation().
			WithFullyQualifiedName(i.object + " " + i.field).WithName(i.field).WithKind("member"))
	}
	res := sarif.NewRuleResult(i.id).
		WithRuleIndex(run.GetRuleIndex(i.id)).
		WithLevel(level(i.effect)).
		WithMessage(sarif.NewTextMessage(text)).
		AddLocation(location).
		WithPartialFingerprints(map[string]string{"gammaguard/v1": i.fingerprint()})
	if i.effect == EffectUnknown {
		res.WithKind("open").WithLevel("none")
	}
	if i.effect == EffectOff {
		res.AddSuppression(sarif.NewSuppression().WithKind("inSource").WithJustification("the route's annotation gammaguard.dev/ignore"))
	}
	return res
}

// level returns the SARIF level of the effect.
func level(effect Effect) string {
	switch effect {
	case EffectDeny:
		return "error"
	case EffectWarn:
		return "warning"
	case EffectAudit, EffectUnknown, EffectOff:
	}
	return "note"
}

// artifact returns the location of a file: relative ones to the sources' root.
func artifact(file string) *sarif.ArtifactLocation {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		return sarif.NewSimpleArtifactLocation((&url.URL{Scheme: "file", Path: path}).String())
	}
	relative := (&url.URL{Path: strings.TrimPrefix(path, "./")}).String()
	return sarif.NewSimpleArtifactLocation(relative).WithURIBaseID("%SRCROOT%")
}

// fingerprint tells the finding from others when lines move.
func (i *item) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.id, i.File, i.object, i.field, i.text}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
