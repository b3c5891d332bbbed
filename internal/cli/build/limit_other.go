//go:build !unix

package build

// limitMemory does nothing: the count holds.
func limitMemory() {}
