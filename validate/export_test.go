package validate

// For tests outside of the package, which may import the rules.
const MaxIgnored = maxIgnored

var ComparePaths = comparePaths
