package revision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

// What a revision may hold, and how long git may take.
const (
	maxFiles = 1_000_000 // and folders
	maxSize  = 4 << 30
	// maxName is how long the path of a file may be, and maxNames how long all are together, in bytes: a tree
	// that holds itself many times is small in the repository.
	maxName  = 4096
	maxNames = 256 << 20
	timeout  = 5 * time.Minute
)

// entry is a file of a revision, or a link.
type entry struct {
	name, object string
	link         bool
	size         int64
}

// write writes the files of the tree as they are stored: no filter, which the
// repository's configuration may name, has a say.
func (t *Tree) write(ctx context.Context, tree string) error {
	if err := os.Mkdir(t.files(), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.files())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	entries, submodules, err := list(ctx, tree)
	if t.submodules = submodules; err == nil {
		err = fill(ctx, root, entries)
	}
	return errors.Join(err, root.Close())
}

// list returns the files of the tree, and the paths of submodules.
func list(ctx context.Context, tree string) (entries []entry, submodules []string, err error) {
	args := []string{"ls-tree", "-r", "-z", "--long", "--full-tree", tree}
	cmd := command(ctx, args...)
	var said words
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	lines, all := bufio.NewReaderSize(out, 2*maxName), total{}
	for err == nil {
		var line []byte
		if line, err = lines.ReadSlice(0); err != nil {
			break
		}
		if of, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\x00"), "\t"); strings.HasPrefix(of, "160000 ") {
			submodules = append(submodules, name)
		}
		e, use := parse(strings.TrimSuffix(string(line), "\x00"))
		if !use {
			continue
		}
		entries = append(entries, e)
		err = all.add(&e)
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		err = errName
	}
	if !errors.Is(err, io.EOF) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, nil, lacking(said.String(), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String())))
	}
	return entries, submodules, nil
}

// errPartial says what to do where a partial clone lacks files of the revision: nothing is fetched for it.
var errPartial = errors.New("the clone is partial, and lacks files of the revision: clone without --filter (actions/checkout: without filter and sparse-checkout), or first write it with git archive, to /dev/null, which fetches them")

// lacking returns errPartial where that is what git says, and otherwise the error.
func lacking(said string, err error) error {
	if strings.Contains(said, "lazy fetching disabled") || strings.Contains(said, "promisor remote") {
		return errPartial
	}
	return err
}

// total is what the files of a revision come to.
type total struct {
	// files are the files and folders, and folder is that of the last file.
	files       int
	folder      []string
	size, names int64
}

var errName = fmt.Errorf("the revision has a file whose path is longer than %d bytes", maxName)

// add adds a file; files come in the order of their names. The error says why that is too much.
func (t *total) add(e *entry) error {
	switch {
	case e.size < 0:
		return fmt.Errorf("git ls-tree: %s: the object is missing", filepath.ToSlash(e.name))
	case len(e.name) > maxName:
		return errName
	case e.size <= repository.MaxFile:
		t.size += e.size
	}
	parts := strings.Split(filepath.ToSlash(e.name), "/")
	same := 0
	for same < min(len(t.folder), len(parts)-1) && t.folder[same] == parts[same] {
		same++
	}
	t.folder = parts[:len(parts)-1]
	t.files += len(parts) - same
	t.names += int64(len(e.name))
	if t.files > maxFiles || t.size > maxSize || t.names > maxNames {
		return fmt.Errorf("the revision has more than %d files and directories, %d GiB, or %d MiB of names", maxFiles, maxSize>>30, maxNames>>20)
	}
	return nil
}

// words keep the beginning of what git says of an error.
type words struct{ bytes.Buffer }

// Write takes what there is room for.
func (w *words) Write(p []byte) (int, error) {
	if room := maxName - w.Len(); room > 0 {
		w.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// parse reads MODE TYPE OBJECT SIZE<TAB>NAME; the size of an object that is missing is -1. What is
// not a file, or cannot be in a work tree, is not used.
func parse(line string) (e entry, use bool) {
	head, name, _ := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if len(fields) != 4 || fields[1] != "blob" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return e, false
	}
	inside := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		size = -1
	}
	return entry{name: filepath.FromSlash(name), object: fields[2], link: fields[0] == "120000", size: size}, !inside
}

// fill writes the files. One that is too large to be read is as large, and empty.
func fill(ctx context.Context, root *os.Root, entries []entry) error {
	cmd := command(ctx, "cat-file", "--batch")
	var said words
	var asked bytes.Buffer
	for i := range entries {
		if entries[i].size <= repository.MaxFile {
			asked.WriteString(entries[i].object + "\n")
		}
	}
	cmd.Stdin, cmd.Stderr = &asked, &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	objects := bufio.NewReader(out)
	for i := range entries {
		if err = entries[i].put(root, objects); err != nil {
			_ = cmd.Process.Kill()
			break
		}
	}
	if waited := cmd.Wait(); err == nil && waited != nil {
		return fmt.Errorf("git cat-file: %w: %s", waited, strings.TrimSpace(said.String()))
	}
	return err
}

// put writes one file, whose content comes next.
func (e *entry) put(root *os.Root, objects *bufio.Reader) error {
	var data []byte
	if e.size <= repository.MaxFile {
		line, err := objects.ReadSlice('\n')
		head := string(line)
		if err != nil || !strings.HasSuffix(head, fmt.Sprintf(" blob %d\n", e.size)) {
			return fmt.Errorf("git cat-file: %s: %q", filepath.ToSlash(e.name), strings.TrimSpace(head))
		}
		data = make([]byte, e.size+1) // and a line break
		if _, err := io.ReadFull(objects, data); err != nil {
			return fmt.Errorf("git cat-file: %s: %w", filepath.ToSlash(e.name), err)
		}
		data = data[:e.size]
	}
	if err := root.MkdirAll(filepath.Dir(e.name), 0o700); err != nil {
		return err
	}
	if e.link {
		_ = root.Symlink(string(data), e.name) // where there are none, it is missing
		return nil
	}
	file, err := root.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Truncate(e.size), file.Close())
}
