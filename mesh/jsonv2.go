//go:build goexperiment.jsonv2 && !go1.27

package mesh

// With this experiment go-json-experiment stands for the standard library's package, which
// takes another error to skip a method: every valid route would be denied.
var _ = gammaguardCannotBeBuiltWithTheExperimentJSONv2
