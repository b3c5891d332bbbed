package runner

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/gammaguard/gammaguard/mutate"
)

var (
	// ruleID is the end of a finding's message, alone or in a list.
	ruleID = regexp.MustCompile(`\(([a-z]+(?:-[a-z]+)+)\)(?:$|[,;\]] ?)`)
	// warningID is the end of a warning.
	warningID = regexp.MustCompile(`\(([a-z]+(?:-[a-z]+)+)\)$`)
)

// read takes the IDs from what the user reads. IDs that are not gammaguard's are
// others' words.
func read(lines ...string) *Outcome {
	var denied, warned []string
	text := strings.Join(lines, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if warning, ok := strings.CutPrefix(line, "Warning: "); ok {
			warned = append(warned, found(warningID, warning, append(ruleIDs(), mutate.Names()...))...)
		} else {
			denied = append(denied, found(ruleID, line, ruleIDs())...)
		}
	}
	return &Outcome{Rules: sorted(denied), Warnings: sorted(warned), Text: text}
}

// warned returns the warnings of what the user reads.
func warned(text string) (warnings []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if warning, ok := strings.CutPrefix(strings.TrimSpace(line), "Warning: "); ok {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// found returns those of the known IDs that the pattern finds.
func found(pattern *regexp.Regexp, text string, known []string) (ids []string) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		if slices.Contains(known, match[1]) {
			ids = append(ids, match[1])
		}
	}
	return ids
}

// applied returns what kubectl apply makes of what is stored.
func applied(document *Document, old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := document.object()
	if err != nil {
		return nil, err
	}
	if !document.ServerSide {
		setLastApplied(object, document)
	}
	if old == nil {
		return object, nil
	}
	current, err := old.MarshalJSON()
	patch, patchErr := object.MarshalJSON()
	if err := errors.Join(err, patchErr); err != nil {
		return nil, err
	}
	if !document.ServerSide { // fields that were applied before and are not any more go
		original := []byte(old.GetAnnotations()[lastApplied])
		if patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(original, patch, current); err != nil {
			return nil, err
		}
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, err
	}
	return decodeObject(merged)
}

// lastApplied is where kubectl apply keeps what it applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func setLastApplied(object *unstructured.Unstructured, document *Document) {
	object.SetAnnotations(labels.Merge(object.GetAnnotations(), labels.Set{lastApplied: string(document.JSON)}))
}

// decodeObject reads an object from JSON.
func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(text, &object.Object)
}
