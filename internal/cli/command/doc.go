// Package command is the command line of gammaguard: flags, help and exit codes.
// What the commands do is in package check and below.
package command
