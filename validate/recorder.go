package validate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// recorder records the reads of a rule. Those of a denial must be confirmed before it is
// answered.
type recorder struct {
	mesh.Recorder
	// kept is where since puts them.
	kept   []mesh.Read
	recent recent
}

func newRecorder(world mesh.Reader) *recorder {
	const each, all = 8, 32 // as many as most rules read, and most parents
	room := make([]mesh.Read, all)
	r := &recorder{kept: room[each:each], recent: recent{Reader: world}}
	r.Recorder = mesh.Recorder{Reader: &r.recent, Reads: room[:0:each]}
	return r
}

// begin clears the recorded reads.
func (r *recorder) begin() { r.Reads = r.Reads[:0] }

// mark returns the place in the record, for since.
func (r *recorder) mark() int {
	if r == nil {
		return 0
	}
	return len(r.Reads)
}

// since returns what has been recorded since the mark.
func (r *recorder) since(mark int) []mesh.Read {
	if r == nil {
		return nil
	}
	from := len(r.kept)
	r.kept = append(r.kept, r.Reads[mark:]...)
	return slices.Clip(r.kept[from:])
}

// again records reads whose results were kept.
func (r *recorder) again(reads []mesh.Read) { r.Reads = append(r.Reads, reads...) }

// recent is a Reader that keeps the Services that were read last, in turn: nearly all rules
// ask for the same few.
type recent struct {
	mesh.Reader
	services [4]struct {
		key     mesh.ServiceKey
		service *mesh.Service
		err     error
	}
	oldest int
}

// Do implements mesh.Reader.
func (r *recent) Do(read mesh.Read) mesh.Answer {
	if read.Kind != mesh.ReadService {
		return r.Reader.Do(read)
	}
	for i := range r.services {
		if kept := &r.services[i]; kept.key == read.Service {
			return mesh.Answer{Service: kept.service, Err: kept.err}
		}
	}
	answer := r.Reader.Do(read)
	kept := &r.services[r.oldest%len(r.services)]
	r.oldest++
	kept.key, kept.service, kept.err = read.Service, answer.Service, answer.Err
	return answer
}
