// Package verify compares what gammaguard says of requests with what the proxies of a mesh were given.
//
// For the clients of a namespace at a Service port, it makes the requests that tell apart what the matches of
// either side look for: at each path that a match names, and beside it, one for each pair of matches with what
// both ask for. Both sides answer each of them. Requests that one match decides are a class, as in diff.
package verify
