package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// Where the program is found, and the schema of SARIF.
const (
	informationURI = "https://github.com/gammaguard/gammaguard"
	sarifSchema    = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json"
)

// SARIF writes the report as a SARIF 2.1.0 log of this version of the program, with the
// edits of mutations as fixes. Relative file names are meant to be relative to the root
// of the sources, as code scanning takes them.
func (r *CheckReport) SARIF(w io.Writer, version string) error {
	var described []sarifRule
	for _, topic := range explain.Topics() {
		described = append(described, describe(&topic))
	}
	return writeSARIF(w, version, described, r.Items(), r.unchecked())
}

// writeSARIF writes the items, each of one of the rules, and what was not checked.
func writeSARIF(w io.Writer, version string, described []sarifRule, items, unchecked []Item) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	driver := &run.Tool.Driver
	driver.Name, driver.Version, driver.InformationURI, driver.Rules = "gammaguard", version, informationURI, described
	type fix struct {
		file string
		Edit
	}
	given := map[fix]bool{}
	for _, i := range items {
		if i.Edit != nil { // of a base in several sets, one result has it: who applies all writes it once
			if at := (fix{i.File, *i.Edit}); given[at] {
				i.Edit = nil
			} else {
				given[at] = true
			}
		}
		result := i.result()
		result.RuleIndex = slices.IndexFunc(driver.Rules, func(rule sarifRule) bool { return rule.ID == i.ID })
		run.Results = append(run.Results, result)
	}
	if len(unchecked) > 0 {
		invocation := sarifInvocation{ExecutionSuccessful: true}
		for _, i := range unchecked {
			notification := sarifNotification{Level: "warning", Message: sarifText{Text: unlinked(i.named())}}
			i.Object = "" // a set is no part of the file
			notification.Locations = i.result().Locations
			invocation.Notifications = append(invocation.Notifications, notification)
		}
		run.Invocations = []sarifInvocation{invocation}
	}
	encoder := json.NewEncoder(printable.JSON(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func describe(topic *explain.Topic) sarifRule {
	effect := validate.Action(topic.Default)
	if topic.Class == explain.Mutation {
		effect = validate.Warn
	}
	rule := sarifRule{
		ID: topic.ID, HelpURI: topic.Page(),
		ShortDescription: sarifText{Text: topic.Title},
		FullDescription:  sarifText{Text: topic.Rationale},
		Help: sarifText{
			Text: topic.Rationale + "\n\n" + topic.Remedy, Markdown: topic.Markdown(),
		},
	}
	rule.DefaultConfiguration.Level = levels[effect].sarif
	return rule
}

// result describes the item. Its rule's index is not set.
func (i *Item) result() sarifResult {
	result := sarifResult{
		RuleID: i.ID, Kind: "fail", Level: levels[i.Effect].sarif, Message: sarifText{Text: unlinked(i.named())},
		Locations:           []sarifLocation{},
		PartialFingerprints: map[string]string{"gammaguard/v1": i.fingerprint()},
	}
	var location sarifLocation
	if i.File != Stdin { // which has no URI
		location.PhysicalLocation = &sarifPhysicalLocation{artifact(i.File), sarifRegion{StartLine: i.Line}}
	}
	if i.Object != "" {
		name := i.Object
		if i.Field != "" {
			name += " " + i.Field
		}
		location.LogicalLocations = []sarifLogicalLocation{{Name: i.Field, FullyQualifiedName: name, Kind: "member"}}
	}
	if location.PhysicalLocation != nil || location.LogicalLocations != nil {
		result.Locations = append(result.Locations, location)
	}
	switch i.Effect {
	case EffectUnknown:
		result.Kind = "open"
	case validate.Off:
		result.Suppressions = []sarifSuppression{{"inSource", "silenced by the route's gammaguard.dev/ignore annotation"}}
	}
	if e := i.Edit; e != nil {
		region := sarifRegion{e.StartLine, e.StartColumn, e.EndLine, e.EndColumn}
		result.Fixes = []sarifFix{{
			sarifText{Text: unlinked(i.Text)}, []sarifArtifactChange{{artifact(i.File), []sarifReplacement{{region, sarifText{Text: e.Text}}}}},
		}}
	}
	return result
}

// unlinked keeps a text from holding a link, as a message of SARIF may: "[text](target)".
func unlinked(text string) string { return strings.ReplaceAll(text, "](", "] (") }

// artifact returns the location of a file: relative ones to the sources' root.
func artifact(file string) sarifArtifactLocation {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		return sarifArtifactLocation{URI: (&url.URL{Scheme: "file", Path: path}).String()}
	}
	return sarifArtifactLocation{URI: (&url.URL{Path: path}).String(), URIBaseID: "%SRCROOT%"}
}
