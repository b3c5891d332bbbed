package traffic

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
)

// Since returns the Reader as that of the version that follows another one: what that one has and this one does not know is as
// it is elsewhere, which may be nil, or else was removed.
func Since(reader, before, elsewhere mesh.Reader) mesh.Reader {
	return mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		answer := reader.Do(read)
		switch read.Kind {
		case mesh.ReadNamespace, mesh.ReadService, mesh.ReadReferenceGrants:
			if !errors.Is(answer.Err, mesh.ErrUnknown) || before.Do(read).Err != nil {
				return answer
			}
			if elsewhere != nil {
				if moved := elsewhere.Do(read); moved.Err == nil {
					return moved
				}
			}
			if read.Kind == mesh.ReadReferenceGrants {
				return mesh.Answer{}
			}
			return mesh.Answer{Err: errGone}
		}
		return answer
	})
}

// errGone is the answer about what the version before has and this one lacks.
var errGone = fmt.Errorf("no longer in the input: %w", mesh.ErrNotFound)

// absent says what is so of an object that is not found.
func absent(err error) string {
	if errors.Is(err, errGone) {
		return "is no longer in the input"
	}
	return "does not exist"
}
