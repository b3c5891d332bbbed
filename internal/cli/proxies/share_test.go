package proxies

import "testing"

// TestFraction: shares are percents, and no two are equal texts.
func TestFraction(t *testing.T) {
	for want, parts := range map[string][2]int64{
		"b 90 %": {9, 10}, "b 0.01 %": {1, 10000}, "b 12.5 %": {2, 16}, "b": {3, 3}, "b 33.33 % (1/3)": {2, 6}, "b 33.33 %": {3333, 10000}, "b 0 % (1/1000000)": {1, 1000000}, "b 100 % (999999/1000000)": {999999, 1000000},
	} {
		if got := fraction("b", parts[0], parts[1]); got != want {
			t.Errorf("%v: %q, want %q", parts, got, want)
		}
	}
}
