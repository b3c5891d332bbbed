package mesh

import "github.com/agext/levenshtein"

// Nearest returns the known word that the given one was probably meant to be, or nothing if
// none is near: at most one edit in three letters, and two in five.
func Nearest(word string, known []string) string {
	best, least := "", (len(word)+1)/3+1
	for _, candidate := range known {
		if max(len(word)-len(candidate), len(candidate)-len(word)) >= least {
			continue // also for speed: others may have written the word
		}
		if distance := levenshtein.Distance(word, candidate, nil); distance < least {
			best, least = candidate, distance
		}
	}
	return best
}
