package sets

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/json"
)

// Ignored is a pattern of what a project leaves aside. It is written as a text, or with a reason.
type Ignored struct {
	Pattern string `json:"pattern"`
	// Reason says why; empty for none. Reports repeat it.
	Reason string `json:"reason,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Ignored) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		return json.UnmarshalCaseSensitivePreserveInts(data, &i.Pattern)
	}
	type plain Ignored
	strict, err := json.UnmarshalStrict(data, (*plain)(i))
	return errors.Join(append(strict, err)...)
}

// maxReason is how long a reason may be, in bytes.
const maxReason = 200

func (i *Ignored) validate() error {
	switch {
	case i.Pattern == "":
		return errors.New("pattern is required")
	case len(i.Reason) > maxReason, strings.ContainsAny(i.Reason, "\r\n"):
		return fmt.Errorf("reason: must be one line of at most %d bytes", maxReason)
	}
	return nil
}

// patternsOf returns the patterns, and the reason for each.
func patternsOf(all []Ignored) (patterns, reasons []string) {
	for _, i := range all {
		patterns, reasons = append(patterns, i.Pattern), append(reasons, i.Reason)
	}
	return patterns, reasons
}
