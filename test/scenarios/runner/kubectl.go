package runner

import (
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	outcome := &Outcome{Rules: []string{}, Warnings: []string{}, Text: strings.Join(lines, "\n")}
	denying := rules()
	warning := append(rules(), mutate.Names()...)
	for line := range strings.SplitSeq(outcome.Text, "\n") {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "Warning: "); ok {
			if m := warningID.FindStringSubmatch(text); len(m) > 0 && slices.Contains(warning, m[1]) {
				outcome.Warnings = append(outcome.Warnings, m[1])
			}
			continue
		}
		for _, m := range ruleID.FindAllStringSubmatch(line, -1) {
			if slices.Contains(denying, m[1]) {
				outcome.Rules = append(outcome.Rules, m[1])
			}
		}
	}
	outcome.Rules = sortedOnce(outcome.Rules)
	outcome.Warnings = sortedOnce(outcome.Warnings)
	return outcome
}

// applied returns what kubectl apply makes of what is stored.
func applied(document *Document, old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := document.object()
	if err != nil {
		return nil, err
	}
	if !document.ServerSide {
		annotate(object, lastApplied, string(document.JSON))
	}
	if old == nil {
		return object, nil
	}
	current, err := old.MarshalJSON()
	if err != nil {
		return nil, err
	}
	patch, err := object.MarshalJSON()
	if err != nil {
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

func annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

// decodeObject reads an object from JSON.
func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(text, &object.Object)
}
