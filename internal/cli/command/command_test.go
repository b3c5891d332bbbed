package command

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/build"
)

var update = flag.Bool("update", false, "write the golden files")

// result is what a run of the command line led to.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command line in this process.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(append([]string{"gammaguard"}, args...), strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// golden compares the text with a golden file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew\n%s", path, diff)
	}
}

func TestMain(m *testing.M) {
	build.Main()
	// No cluster and no configuration of whoever runs the tests has a say.
	for key, value := range map[string]string{"KUBECONFIG": os.DevNull, "HOME": os.TempDir()} {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func streamsOf(t *testing.T) genericiooptions.IOStreams {
	t.Helper()
	return genericiooptions.IOStreams{In: strings.NewReader(""), Out: t.Output(), ErrOut: t.Output()}
}

func loadConfig(text string) (*config.GuardConfiguration, error) { return config.Load([]byte(text)) }
