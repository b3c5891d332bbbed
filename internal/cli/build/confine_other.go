//go:build !linux || !(amd64 || arm64)

package build

// confine does nothing: what Go's libraries refuse must do.
func confine() {}
