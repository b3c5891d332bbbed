// Package certs provides the webhook's serving certificate: it makes one in
// process for tests and the demo, and says whether the files that the server
// reads hold a certificate that it can serve.
package certs
