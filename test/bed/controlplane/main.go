// Command controlplane builds the control plane's binaries where they are
// missing, and prints the folder that they are in.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gammaguard/gammaguard/test/bed"
)

func main() {
	bed.Main(func(ctx context.Context, _ []string) error {
		dir, err := bed.Build(ctx, os.Stderr)
		if err == nil {
			fmt.Println(dir)
		}
		return err
	})
}
