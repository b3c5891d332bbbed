package validate

import "github.com/gammaguard/gammaguard/mesh"

// Confirmer is a Reader that makes reads live when it is told to, and from then on
// answers them as they were read.
type Confirmer interface {
	mesh.Reader
	// Read makes those of the reads live that were not made before, and returns how
	// many these were.
	Read(reads []mesh.Read) (fresh int, err error)
}

// JudgeConfirmed judges by the cache. A verdict that denies, or would but for a mode,
// an exemption or a dry run, is judged again over live reads of all that it was read
// from, until it rests on nothing else: a cache that lags never denies.
func (e *Engine) JudgeConfirmed(req *Request, cache mesh.Reader, confirmed Confirmer) (Verdict, error) {
	verdict, err := e.Judge(req, cache)
	if err != nil || len(verdict.Reads()) == 0 {
		return verdict, err
	}
	for {
		fresh, err := confirmed.Read(verdict.Reads())
		if err != nil {
			return Verdict{}, err
		}
		if fresh == 0 {
			return verdict, nil
		}
		if verdict, err = e.Judge(req, confirmed); err != nil {
			return Verdict{}, err
		}
	}
}
