//go:build unix

package repository_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

func put(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFiles: regular files of bounded size below the root are read, and what the user named.
func TestFiles(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, name := range []string{"repo/.git/HEAD", "repo/a.yaml", "repo/sub/b.yaml", "outside/c.yaml", "repo/big.yaml", "repo/largest.yaml", "else/d.yaml"} {
		put(t, at(name))
	}
	must(t, os.Truncate(at("repo/big.yaml"), repository.MaxFile+1))
	must(t, os.Truncate(at("repo/largest.yaml"), repository.MaxFile))
	for name, target := range map[string]string{
		"repo/inside": "sub/b.yaml", "repo/sub/up": "../a.yaml", "repo/outside": at("outside/c.yaml"), "repo/folder": at("outside"),
		"repo/zero": "/dev/zero", "repo/stdin": "/dev/stdin", "repo/way": "/proc/self/root/etc/hostname", "repo/chain": "folder/c.yaml", "else/named": at("outside/c.yaml"),
	} {
		must(t, os.Symlink(target, at(name)))
	}
	must(t, syscall.Mkfifo(at("repo/pipe"), 0o600))
	files := repository.New("", at("repo/sub"), at("else/named"), at("repo/outside"))
	for name, want := range map[string]string{
		"repo/a.yaml": "", "repo/sub/b.yaml": "", "repo/inside": "", "repo/sub/up": "", "repo/largest.yaml": "", "else/named": "",
		"repo/big.yaml": "is larger than 16 MiB", "repo/outside": "is outside the repository", "repo/folder/c.yaml": "is outside the repository",
		"repo/chain": "is outside the repository", "repo/zero": "is outside the repository", "repo/stdin": "", "repo/way": "is outside the repository",
		"repo/pipe": "is not a regular file", "repo/sub/../../outside/c.yaml": "is outside the repository", "repo/none": "no such file",
	} {
		_, err := files.Read(at(name))
		switch {
		case name == "repo/stdin": // whatever it is, it is not in the repository
			if err == nil {
				t.Errorf("%s is read", name)
			}
		case (err == nil) != (want == ""), err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestReplaced: what is put in the place of a file, or of a folder on the way to it, after that was
// looked at, leads nowhere.
func TestReplaced(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, name := range []string{"repo/.git/HEAD", "repo/sub/a.yaml", "repo/b.yaml", "repo/named.yaml"} {
		put(t, at(name))
	}
	must(t, os.Mkdir(at("outside"), 0o750))
	must(t, os.WriteFile(at("outside/a.yaml"), []byte("secret"), 0o600))

	files := repository.New("", at("repo"), at("repo/named.yaml"))
	_, err := files.Read(at("repo/sub/a.yaml"))
	must(t, err)
	must(t, os.Rename(at("repo/sub"), at("repo/was")))
	must(t, os.Symlink(at("outside"), at("repo/sub")))
	if text, err := files.Read(at("repo/sub/a.yaml")); err == nil || !strings.Contains(err.Error(), "path escapes") {
		t.Errorf("by way of a folder that was replaced: %q, %v", text, err)
	}

	for _, name := range []string{"repo/b.yaml", "repo/named.yaml"} {
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for i := 0; err == nil; i++ {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				next := at("repo/next")
				if i%2 == 0 {
					err = os.Symlink(at("outside/a.yaml"), next)
				} else {
					err = os.WriteFile(next, []byte("text"), 0o600)
				}
				err = errors.Join(err, os.Rename(next, at(name)))
			}
			stopped <- err
		}()
		read := 0
		for range 5000 {
			switch text, err := files.Read(at(name)); {
			case err != nil:
			case string(text) == "text":
				read++
			default:
				t.Errorf("%s: %q is read", name, text)
			}
		}
		close(stop)
		must(t, <-stopped)
		t.Logf("%s: read %d times", name, read)
	}
}

// TestCreate: in a repository, no link is written through.
func TestCreate(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	for _, name := range []string{"repo/.git/HEAD", "repo/there", "repo/sub/there", "outside/there"} {
		put(t, at(name))
	}
	for name, target := range map[string]string{
		"repo/link": at("outside/there"), "repo/none": at("outside/none"), "repo/git": ".git/HEAD", "repo/folder": at("outside"), "repo/inside": "sub", "outside/link": "there",
	} {
		must(t, os.Symlink(target, at(name)))
	}
	for name, want := range map[string]string{
		"repo/new": "", "repo/there": "", "repo/sub/new": "", "repo/inside/there": "", "outside/link": "", "outside/new": "",
		"repo/link": "is a link in a repository", "repo/none": "is a link in a repository", "repo/git": "is a link in a repository",
		"repo/folder/there": "path escapes", "repo/folder/new": "path escapes", "repo/nowhere/new": "does not exist",
	} {
		file, err := repository.Create(at(name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err == nil {
			must(t, file.Close())
		}
	}
}

// TestNamedPipe: what the user names may be a pipe, as of <(...) in a shell.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	wrote := make(chan error)
	go func() { wrote <- os.WriteFile(path, []byte("text"), 0o600) }()
	if text, err := repository.New("", path).Read(path); err != nil || string(text) != "text" {
		t.Errorf("%q: %v", text, err)
	}
	must(t, <-wrote)
}

// TestRoot: the closest .git, or the working directory, or the path's own folder.
func TestRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	put(t, at("repo/.git/HEAD"))
	put(t, at("repo/a/b.yaml"))
	put(t, at("plain/a/b.yaml"))
	for name, want := range map[string]string{"repo/a/b.yaml": "repo", "repo": "repo", "plain/a/b.yaml": "plain/a", "plain": "plain"} {
		if got := repository.Root(at(name)); got != at(want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	t.Chdir(at("plain"))
	for path, want := range map[string]string{"a/b.yaml": "plain", at("plain/a"): "plain", "../repo/a": "repo", "..": ""} {
		if got := repository.Root(path); got != filepath.Clean(at(want)) {
			t.Errorf("in plain, %s: %s", path, got)
		}
	}
}
