package bed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// BuildCommand builds a command of this repository, such as gammaguard-webhook,
// from its folder under cmd, and returns the path of the binary.
func BuildCommand(ctx context.Context, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	unlock, err := lock(ctx, path+".lock", nil)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	defer unlock()
	// go build leaves a binary alone that is up to date.
	if _, err := goCommand(ctx, root, "build", "-buildvcs=false", "-o", path, "./cmd/"+name); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}
