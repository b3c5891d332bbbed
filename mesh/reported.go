package mesh

var reported = map[ProfileName][]FieldFact{}
