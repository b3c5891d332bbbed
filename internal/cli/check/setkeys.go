package check

import "github.com/gammaguard/gammaguard/internal/cli/sets"

// keyOf identifies a set by where its parts are.
func keyOf(set *sets.Set, at func(string) (string, error)) (string, error) {
	paths := []string{set.Path}
	if set.Named && set.Files != nil {
		paths = set.Files
	}
	if set.Chart != nil {
		paths = append([]string{set.Chart.Path}, set.Chart.Values...)
	}
	key := string(set.Kind)
	for _, path := range paths {
		place, err := at(path)
		if err != nil {
			return "", err
		}
		key += "\x00" + place
	}
	return key, nil
}

// byKey returns the sets by what identifies them.
func byKey(at func(string) (string, error), lists ...[]sets.Set) (map[string]*sets.Set, error) {
	all := map[string]*sets.Set{}
	for _, list := range lists {
		for i := range list {
			key, err := keyOf(&list[i], at)
			if err != nil {
				return nil, err
			}
			all[key] = &list[i]
		}
	}
	return all, nil
}
