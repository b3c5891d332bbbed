#!/bin/bash -eu
# Builds each fuzz target of the repository, for OSS-Fuzz: its image for Go has
# compile_native_go_fuzzer, and a project there runs this script in the repository.
make definitions
git grep -o '^func Fuzz[A-Za-z0-9]*' -- '*_test.go' | sed 's|/[^/]*:func | |' | while read -r folder target; do
	compile_native_go_fuzzer "github.com/gammaguard/gammaguard/$folder" "$target" "${folder//\//_}_$target"
done
