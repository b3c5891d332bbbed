package mesh

// Acknowledgement is what the controllers of meshes have answered about a parentRef, in the
// status of its route: "MUST set a status field" (GEP-1294, Goals).
type Acknowledgement uint8

// The acknowledgements. Of several controllers' the last in this order counts.
const (
	// Unanswered: no controller says whether it accepts the parentRef.
	Unanswered Acknowledgement = iota
	// Stale: a controller has answered about an older generation of the route.
	Stale
	// Refused: a controller does not accept it.
	Refused
	// Applied: a controller accepts it.
	Applied
)

// String returns the word for it.
func (a Acknowledgement) String() string {
	return [...]string{"unanswered", "stale", "refused", "applied"}[a]
}

// Acknowledgements are those of all parentRefs of a route, by index. The zero value: none is
// answered.
type Acknowledgements uint64 // two bits for each of 32

// Of returns that of the parentRef with the index.
func (a Acknowledgements) Of(ref int) Acknowledgement { return Acknowledgement(a >> (2 * ref) & 3) }

// With returns those after another answer about some of the parentRefs.
func (a Acknowledgements) With(refs ParentSet, answer Acknowledgement) Acknowledgements {
	for i := range 32 {
		if refs.Has(i) && a.Of(i) < answer {
			a = a&^(3<<(2*i)) | Acknowledgements(answer)<<(2*i)
		}
	}
	return a
}

// ParentCondition is a condition in an entry of a route's status.parents.
type ParentCondition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// Acknowledge returns what the conditions of an entry answer about a route of the generation,
// and the condition that says so. A condition that names no generation is about this one: some
// controllers never name one.
func Acknowledge(conditions []ParentCondition, generation int64) (Acknowledgement, *ParentCondition) {
	for i := range conditions {
		c := &conditions[i]
		if c.Type != "Accepted" {
			continue
		}
		switch {
		case c.ObservedGeneration != 0 && c.ObservedGeneration < generation:
			return Stale, c
		case c.Status == "True":
			return Applied, c
		case c.Status == "False":
			return Refused, c
		}
		break
	}
	return Unanswered, nil
}
