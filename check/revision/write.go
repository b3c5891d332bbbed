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

	"github.com/gammaguard/gammaguard/check/repository"
)

// What a revision may hold, and how long git may take.
const (
	maxFiles = 1_000_000
	maxSize  = 4 << 30
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
	entries, err := list(ctx, tree)
	if err == nil {
		err = fill(ctx, root, entries)
	}
	return errors.Join(err, root.Close())
}

// list returns the files of the tree.
func list(ctx context.Context, tree string) (entries []entry, err error) {
	args := []string{"ls-tree", "-r", "-z", "--long", "--full-tree", tree}
	cmd := command(ctx, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines, size := bufio.NewReader(out), int64(0)
	for err == nil {
		var line string
		if line, err = lines.ReadString(0); err != nil {
			break
		}
		e, use := parse(strings.TrimSuffix(line, "\x00"))
		if !use {
			continue
		}
		if e.size < 0 {
			err = fmt.Errorf("git ls-tree: %s: the object is missing", filepath.ToSlash(e.name))
			break
		}
		entries = append(entries, e)
		if e.size <= repository.MaxFile {
			size += e.size
		}
		if len(entries) > maxFiles || size > maxSize {
			err = fmt.Errorf("the revision has more than %d files or %d GiB", maxFiles, maxSize>>30)
		}
	}
	if !errors.Is(err, io.EOF) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return entries, nil
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
	var said, asked bytes.Buffer
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
		head, err := objects.ReadString('\n')
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
