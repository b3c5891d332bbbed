// Package certs provides the webhook's serving certificate: a folder of files,
// who fills it (Source), and whether what it holds can be served.
//
// Two packages below it are Sources: certmanager, where cert-manager fills the
// folder by way of a Secret, and selfmanaged, where gammaguard does it itself.
package certs
