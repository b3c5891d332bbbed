package validate

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// JudgeConfirmed judges by what is cached. A verdict that denies, or would but for a mode,
// an exemption or a dry run, is judged again over live reads of all that it was read
// from, until it rests on nothing else: a cache that lags never denies. Beyond
// mesh.MaxReads a finding is marked as unconfirmed, and denies only together with one
// that is confirmed.
func (e *Engine) JudgeConfirmed(req *Request, world mesh.Confirmer) (Verdict, error) {
	var made map[mesh.Read]bool
	for {
		verdict, err := e.Judge(req, world)
		if err != nil {
			return Verdict{}, err
		}
		due := verdict.due(made)
		if len(due) == 0 {
			err = verdict.markUnconfirmed(made)
			return verdict, err
		}
		if _, err = world.Read(due); err != nil {
			return Verdict{}, err
		}
		if made == nil {
			made = make(map[mesh.Read]bool, len(due))
		}
		for _, read := range due {
			made[read] = true
		}
	}
}

// due returns the reads that are still to be made before the verdict is answered, those
// for findings that a mode, an exemption or a dry run lowers included: for whole
// findings, in their order, up to mesh.MaxReads with those made.
func (v *Verdict) due(made map[mesh.Read]bool) []mesh.Read {
	var due []mesh.Read
	seen := map[mesh.Read]bool{}
	for i := range v.Findings {
		before := len(due)
		for _, read := range v.Findings[i].reads {
			if !made[read] && !seen[read] {
				seen[read] = true
				due = append(due, read)
			}
		}
		if len(made)+len(due) > mesh.MaxReads {
			for _, read := range due[before:] {
				delete(seen, read)
			}
			due = due[:before]
		}
	}
	return due
}

// markUnconfirmed marks the findings that were not read live as a whole. The error says
// that no other finding denies.
func (v *Verdict) markUnconfirmed(made map[mesh.Read]bool) error {
	unconfirmed, denied := 0, false
	for i := range v.Findings {
		f := &v.Findings[i]
		f.Unconfirmed = slices.ContainsFunc(f.reads, func(read mesh.Read) bool { return !made[read] })
		switch {
		case f.Effect != Deny:
		case f.Unconfirmed:
			unconfirmed++
		default:
			denied = true
		}
	}
	if unconfirmed > 0 && !denied {
		return fmt.Errorf("%d findings take more than the %d live reads of a request to confirm", unconfirmed, mesh.MaxReads)
	}
	return nil
}
