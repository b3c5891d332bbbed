package mesh

// Recorder is a Reader that records its reads. Those of objects are left out: no cache
// has these, so that they are always read live.
type Recorder struct {
	Reader
	Reads []Read
}

// Do implements Reader.
func (r *Recorder) Do(read Read) Answer {
	if read.Kind != ReadObject {
		r.Reads = append(r.Reads, read)
	}
	return r.Reader.Do(read)
}
