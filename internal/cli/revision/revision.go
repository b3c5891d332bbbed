// Package revision reads the files of a revision of a git repository.
package revision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/temporary"
)

// Tree is the files of a revision, in a temporary folder.
type Tree struct {
	revision string
	// top is the top folder of the repository, and prefix leads from there to the
	// working directory.
	top, prefix string
	folder      string
	// submodules are the paths of other repositories in it, of which nothing is written.
	submodules []string
	remove     func() error
}

// Checkout writes the files of a revision to a temporary folder, as git stores them. The repository is
// that of the working directory, and stays as it is.
func Checkout(ctx context.Context, revision string) (*Tree, error) {
	top, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	tree, err := treeOf(ctx, revision)
	if err != nil && strings.Contains(revision, "..") {
		base, _, _ := strings.Cut(revision, "..")
		return nil, fmt.Errorf("%q is not one revision; for the changes of a branch alone, use %s", revision, mergeBase(cmp.Or(base, "main")))
	}
	if _, lacks := git(ctx, "rev-parse", "--verify", "--end-of-options", revision+"^{commit}"); err != nil && lacks == nil {
		return nil, errPartial
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not a revision of the repository in %s; fetch it first (actions/checkout: fetch-depth: 0)", revision, top)
	}
	folder, remove, err := temporary.Folder()
	if err != nil {
		return nil, err
	}
	t := &Tree{revision: revision, top: top, prefix: prefix, folder: folder, remove: remove}
	if err := t.write(ctx, tree); err != nil {
		return nil, errors.Join(err, t.Remove())
	}
	return t, nil
}

// mergeBase is the argument for what the branch in the work tree was made from.
func mergeBase(revision string) string {
	return `"$(git merge-base ` + printable.Shell(revision) + ` HEAD)"`
}

// Ahead says that the revision has changes that the branch in the work tree lacks, or that this is not known of a shallow clone; empty if it has none.
func (t *Tree) Ahead(ctx context.Context) string {
	commit, err := git(ctx, "rev-parse", "--verify", "--end-of-options", t.revision+"^{commit}")
	if err != nil {
		return "" // it is no commit
	}
	_, err = git(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		return ""
	}
	shallow, err := git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return ""
	}
	_, none := git(ctx, "merge-base", commit, "HEAD")
	if shallow == "false" || none == nil {
		return t.revision + " has commits that HEAD lacks, and what they change is shown in reverse; to leave it out, use --base-ref " + mergeBase(t.revision)
	}
	head, err := git(ctx, "cat-file", "commit", "HEAD")
	if header, _, _ := strings.Cut(head, "\n\n"); err != nil || strings.Contains(header, "\nparent "+commit) { // as in what a pull request would merge
		return ""
	}
	return "this clone ends before it is known whether " + t.revision + " has commits that HEAD lacks: what they change would be shown in reverse; fetch the history (actions/checkout: fetch-depth: 0)"
}

// Submodules names the submodules of the revision, which are not in it; empty if it has none.
func (t *Tree) Submodules() string {
	if len(t.submodules) == 0 {
		return ""
	}
	return t.revision + " has submodules, of which --base-ref reads nothing (" + t.submodules[0] + "); to compare what uses them, check the revision out with its submodules, and use --base"
}

// InSubmodule reports whether the path is in a submodule of the revision, so that this has nothing of it.
func (t *Tree) InSubmodule(path string) bool {
	there, err := t.Path(path)
	if err != nil {
		return false
	}
	within, err := filepath.Rel(t.files(), there)
	return err == nil && slices.ContainsFunc(t.submodules, func(name string) bool {
		return within == filepath.FromSlash(name) || strings.HasPrefix(within, filepath.FromSlash(name)+string(filepath.Separator))
	})
}

// Sparse says that the work tree lacks files that git has, which read as removed; empty if it has all.
func (t *Tree) Sparse(ctx context.Context) string {
	if sparse, err := git(ctx, "config", "--type=bool", "core.sparseCheckout"); err != nil || sparse != "true" {
		return ""
	}
	return "the checkout is sparse, and what it leaves out reads as removed: name PATHs that it has"
}

// WithoutIgnored says what to do where the revision lacks what git ignores, such as the dependencies of charts.
func (t *Tree) WithoutIgnored() string {
	return t.revision + " has nothing that git ignores, such as dependencies of charts; to compare what needs them, check it out in another directory, run helm dependency build there, and use --base"
}

// Exists reports whether the repository of the working directory has the revision.
func Exists(ctx context.Context, revision string) bool {
	_, err := treeOf(ctx, revision)
	return err == nil
}

// treeOf returns the name of the revision's tree.
func treeOf(ctx context.Context, revision string) (string, error) {
	return git(ctx, "rev-parse", "--verify", "--end-of-options", revision+"^{tree}")
}

// Path returns where a file or folder of the work tree is in the revision. It may not
// exist there.
func (t *Tree) Path(name string) (string, error) {
	within := filepath.Join(filepath.FromSlash(t.prefix), name)
	if filepath.IsAbs(name) {
		resolved, err := filepath.EvalSymlinks(name)
		if err != nil {
			return "", err
		}
		if within, err = filepath.Rel(t.top, resolved); err != nil {
			return "", err
		}
	}
	if !filepath.IsLocal(within) {
		return "", fmt.Errorf("%s is outside the repository in %s", name, t.top)
	}
	return filepath.Join(t.files(), within), nil
}

// Existing returns where those of the files and folders are in the revision that exist
// there.
func (t *Tree) Existing(names []string) ([]string, error) {
	var paths []string
	for _, name := range names {
		path, err := t.Path(name)
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return paths, nil
}

// Other names a file as it is in the revision, if it is another one there; empty if it is the same, or is not there.
func (t *Tree) Other(name string) string {
	path, err := t.Path(name)
	if name == "" || err != nil {
		return ""
	}
	now, failed := repository.Read(name)
	then, err := repository.New(t.files(), t.files()).Read(path)
	if failed != nil || err != nil || bytes.Equal(now, then) {
		return ""
	}
	return t.NamedIn(path)
}

// Root is the folder that holds the files.
func (t *Tree) Root() string { return t.files() }

func (t *Tree) files() string { return filepath.Join(t.folder, "files") }

// Named names the files in an error as git does: "main:manifests/cart.yaml".
func (t *Tree) Named(err error) error {
	if err == nil {
		return nil
	}
	if text := t.NamedIn(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// NamedIn names the files in a text as git does.
func (t *Tree) NamedIn(text string) string {
	const separator = string(filepath.Separator)
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, t.files()); err == nil {
			text = strings.ReplaceAll(strings.ReplaceAll(text, relative+separator, t.revision+":"), relative, t.revision+":.")
		}
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, t.files()+separator, t.revision+":"), t.files(), t.revision+":.")
	return strings.ReplaceAll(text, t.folder+separator, t.revision+":.."+separator) // where a link leads out
}

// Remove removes the temporary folder.
func (t *Tree) Remove() error { return t.remove() }

// git runs git, and returns what it prints.
func git(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := command(ctx, args...).Output()
	if err != nil {
		return "", failure(args, err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// command is git, where the repository's own configuration can have it neither start programs nor
// connect: whoever made the repository may have written that, too.
func command(ctx context.Context, args ...string) *exec.Cmd {
	safe := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "safe.bareRepository=explicit"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...) //nolint:gosec // the user named the revision
	cmd.Env = append(
		os.Environ(),
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C", // failure reads what it says
	)
	return cmd
}

// foreign are git's words for a repository of another user, which it does not read.
var foreign = regexp.MustCompile(`(?s)detected dubious ownership in repository at '(.+?)'\n`)

// failure says in git's words what went wrong, and in its own what jobs in containers meet most.
func failure(args []string, err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		if found := foreign.FindSubmatch(exit.Stderr); found != nil {
			return fmt.Errorf("the checkout belongs to another user; run git config --global --add safe.directory %s", printable.Shell(string(found[1])))
		}
		text := strings.Join(strings.Fields(string(exit.Stderr)), " ")
		if strings.Contains(text, "not a git repository") {
			text += "; run gammaguard in a directory of the repository that has the revision"
		}
		err = errors.New(text)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("reading a revision needs git, which is not in $PATH; without it, compare with another checkout of it")
	}
	return fmt.Errorf("git %s: %w", args[0], err)
}
