package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report as one JSON object.
func (r *CheckReport) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
