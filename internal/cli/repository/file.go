package repository

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxFile is the size of the largest file that is read.
const MaxFile = 16 << 20

// HasFolder returns an error if the folder does not exist that a file is to be in.
func HasFolder(path string) error {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the directory %s does not exist", path, folder)
	}
	return nil // what else is wrong is said where the file is written
}

// Create makes a file that the user named, or empties it. In a git repository it is no link, and no
// link on the way to it leads out of the repository: somebody else may have put it there.
func Create(path string) (*os.File, error) {
	if err := HasFolder(path); err != nil {
		return nil, err
	}
	root := gitRoot(filepath.Dir(absolute(path)))
	if root == "" {
		return os.Create(path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link in a repository", path)
	}
	relative, err := filepath.Rel(root, absolute(path))
	if err != nil {
		return nil, err
	}
	within, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	file, err := within.Create(relative)
	return file, errors.Join(err, within.Close())
}

// Read reads a regular file that is small enough.
func Read(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return nil, err
	}
	return regular(file, path)
}

// regular reads the file, if it is a regular one that is small enough, and closes it.
func regular(file *os.File, path string) ([]byte, error) {
	info, err := file.Stat()
	if err == nil {
		err = allowed(path, info)
	}
	var data []byte
	if err == nil {
		data, err = readAll(file, make([]byte, 0, info.Size()+512))
	}
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%s is larger than %d MiB", relative(path), MaxFile>>20)
	}
	return data, errors.Join(err, file.Close())
}

// readAll reads up to one byte more than the largest file has, into the room there is.
func readAll(r io.Reader, data []byte) ([]byte, error) {
	for len(data) <= MaxFile {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

// allowed returns why a file is not read.
func allowed(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", relative(path))
	case info.Size() > MaxFile:
		return fmt.Errorf("%s is larger than %d MiB", relative(path), MaxFile>>20)
	}
	return nil
}
