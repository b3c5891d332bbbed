// Package fix writes mutations into the text of the file that a route was read
// from. It edits the text at the place of the field and leaves everything else as
// it is, byte for byte: comments, order, quotes, indentation, line endings.
//
// Every edit is verified before it is used: the new text must hold the same objects
// as before with the mutations made and nothing else changed. What cannot be edited
// so, such as an anchor that other objects share, is refused.
package fix
