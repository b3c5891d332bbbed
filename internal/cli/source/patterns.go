package source

import (
	"errors"
	"fmt"
	"strings"
)

// What is heeded of the files of patterns: bytes in each, and in each pattern, and patterns in all, or in one .helmignore; and
// how often 16 bytes of a pattern are compared with 16 bytes of a path for one chart: each takes about 0.1 microseconds, and
// three times that at worst.
const (
	maxIgnoreFile   = 1 << 20
	maxPattern      = 1 << 10
	maxPatterns     = 10_000
	maxHelmCompared = 100_000_000
)

// ErrCompared is why patterns are compared with no more paths.
var ErrCompared = errors.New("there are too many patterns for so many files; use fewer patterns, or check a part of the files")

// Weight returns what patterns count where they are compared: each by its length, in 16 bytes.
func Weight(patterns ...string) (weight int) {
	for _, pattern := range patterns {
		weight += 1 + len(pattern)/16
	}
	return weight
}

// Comparisons returns what it counts to compare patterns of that weight with a path.
func Comparisons(weight int, path string) int { return weight * (1 + len(path)/16) }

// Patterns returns the patterns in an ignore file. It is an error if there are too many.
func Patterns(data []byte) (patterns []string, err error) {
	if len(data) > maxIgnoreFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxIgnoreFile>>20)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			if len(line) > maxPattern {
				return nil, fmt.Errorf("a pattern is longer than %d bytes", maxPattern)
			}
			patterns = append(patterns, line)
		}
	}
	return patterns, TooMany(len(patterns))
}

// TooMany returns an error if there are more patterns than are heeded.
func TooMany(patterns int) error {
	if patterns > maxPatterns {
		return fmt.Errorf("there are more than %d patterns", maxPatterns)
	}
	return nil
}
