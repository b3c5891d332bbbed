// Package expect is what `gammaguard test` does: it reads files of requests and what they must meet,
// compares that with what they meet by manifests, and writes such files from today's routes.
//
// A file is as untrusted as the manifests: to read it starts nothing but git, which reads the revisions
// that it names, and connects to nothing. Its size, its tests, and its revisions are bounded.
package expect
