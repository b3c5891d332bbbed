package sets

import "strings"

// Ignored is a pattern of what a project leaves aside. It is written as a text, or with a reason.
type Ignored struct {
	Pattern string `json:"pattern"`
	// Reason says why; empty for none. Reports repeat it.
	Reason string `json:"reason,omitempty"`
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Ignored) UnmarshalText(text []byte) error {
	i.Pattern = string(text)
	return nil
}

// maxReason is how long a reason may be, in bytes.
const maxReason = 200

// validate reports what is wrong with the pattern in a field.
func (i *Ignored) validate(field string, fail failing) {
	if i.Pattern == "" {
		fail(field, "pattern is required")
	}
	if len(i.Reason) > maxReason || strings.ContainsAny(i.Reason, "\r\n") {
		fail(field+".reason", "must be one line of at most %d bytes", maxReason)
	}
}

// patternsOf returns the patterns, and the reason for each.
func patternsOf(all []Ignored) (patterns, reasons []string) {
	for _, i := range all {
		patterns, reasons = append(patterns, i.Pattern), append(reasons, i.Reason)
	}
	return patterns, reasons
}
