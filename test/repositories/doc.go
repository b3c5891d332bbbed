// Package repositories plays every command that reads a repository, and what pre-commit, the Action,
// and the GitLab job run, on repositories of an attacker: none may start a program, connect, read or
// write outside the repository, or take more time or memory than it may.
package repositories
