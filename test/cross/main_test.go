package main

import "testing"

func TestCheck(t *testing.T) {
	for platform, fails := range map[string]bool{"linux/amd64": false, "windows/amd64": true, "plan10/amd64": true} {
		t.Run(platform, func(t *testing.T) {
			if err := check(platform, "./testdata/unix"); (err != nil) != fails {
				t.Errorf("got %v, want an error: %t", err, fails)
			}
		})
	}
}
