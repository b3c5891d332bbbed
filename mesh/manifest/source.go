package manifest

// Source returns the text of the object's document as it stands in its file, the
// line at which it begins, and the object's index in the items of a List, or -1.
// The text is empty for an object that was not read from a file.
func (o *Object) Source() (text string, line, item int) {
	if o.source == nil {
		return "", o.Origin.Line, -1
	}
	return o.source.text, o.source.line, o.item
}
