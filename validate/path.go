package validate

import (
	"fmt"
	"strconv"
)

// parentPath returns the path of a parentRef, or of a field in it.
func parentPath(index int, field string) string {
	path := "spec.parentRefs[" + strconv.Itoa(index) + "]"
	if field != "" {
		path += "." + field
	}
	return path
}

// refDetail tells references to one Service apart by what they select of it.
func refDetail(port int32, sectionName string) string {
	if port == 0 && sectionName == "" {
		return ""
	}
	return fmt.Sprintf("%d/%s", port, sectionName)
}
