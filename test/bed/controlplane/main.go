// Command controlplane builds the control plane's binaries where they are missing.
package main

import (
	"context"

	"github.com/gammaguard/gammaguard/test/bed"
)

func main() {
	bed.Main(func(ctx context.Context, _ []string) error {
		_, err := bed.Build(ctx)
		return err
	})
}
