package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// writeYAML writes a value as YAML, by the tags that JSON has.
func writeYAML(w io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil || !shows(string(text)) { // it cannot write all characters
		text, err = inQuotes(value)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// shows reports whether printable.Text leaves all lines as they are.
func shows(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); printable.Text(line) != line {
			return false
		}
	}
	return true
}

// inQuotes returns the value as YAML, with those strings in double quotes of which
// printable.Text would escape a part: the escapes mean the same there.
func inQuotes(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder, plain := json.NewDecoder(bytes.NewReader(data)), any(nil)
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	end := printable.NewWriter(&out, false)
	encoder := yamlv3.NewEncoder(end)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err = errors.Join(encoder.Encode(nodeOf(plain)), encoder.Close(), end.Flush())
	return out.Bytes(), err
}

// nodeOf returns a value of JSON as a node of YAML.
func nodeOf(value any) *yamlv3.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yamlv3.Node{Kind: yamlv3.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			node.Content = append(node.Content, nodeOf(key), nodeOf(value[key]))
		}
		return node
	case []any:
		node := &yamlv3.Node{Kind: yamlv3.SequenceNode}
		for _, item := range value {
			node.Content = append(node.Content, nodeOf(item))
		}
		return node
	case string:
		node := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: value}
		if printable.Text(value) != value {
			node.Style = yamlv3.DoubleQuotedStyle
		}
		return node
	}
	node := &yamlv3.Node{}
	if err := node.Encode(scalar(value)); err != nil {
		panic(err) // a number, true, false, or null
	}
	return node
}

// scalar returns a number as one of Go's.
func scalar(value any) any {
	if number, ok := value.(json.Number); ok {
		if whole, err := number.Int64(); err == nil {
			return whole
		}
		float, _ := number.Float64()
		return float
	}
	return value
}
