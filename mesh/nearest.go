package mesh

import "github.com/agext/levenshtein"

// Nearest returns the known word that the given one was probably meant to be, or nothing if
// none is near: at most one edit in three letters, and two in five.
func Nearest[S ~string](word string, known []S) S {
	best, least := S(""), (len(word)+1)/3+1
	for _, candidate := range known {
		if max(len(word)-len(candidate), len(candidate)-len(word)) >= least {
			continue // also for speed: others may have written the word
		}
		if distance := levenshtein.Distance(word, string(candidate), nil); distance < least {
			best, least = candidate, distance
		}
	}
	return best
}
