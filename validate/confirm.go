package validate

import "github.com/gammaguard/gammaguard/mesh"

// Confirmer is a Reader that makes given reads live, and returns their results from
// then on.
type Confirmer interface {
	mesh.Reader
	// Read makes those reads live that it has not made before, and returns their
	// number.
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
