package config

// nearest returns the known word that the given one was probably meant to be, or
// nothing if none is near: at most one edit (a letter put in, left out or changed)
// in three letters.
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+1
	for _, candidate := range known {
		if distance := edits(word, candidate, least); distance < least {
			best, least = candidate, distance
		}
	}
	return best
}

// edits returns the least number of edits that make b of a (Levenshtein's
// distance), or some number not below limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // row[j]: from the first letters of a to b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
