package report

import "github.com/gammaguard/gammaguard/internal/printable"

// maxListed is how large the parts of a report may be together, in bytes of text. The repository that is
// checked decides how many there are, and one file can be in many sets.
const maxListed = 16 << 20

// AddRoute adds the judgment on a route, with its texts as they are shown. Beyond the bound of a
// report it is counted, and not listed.
func (r *CheckReport) AddRoute(route *Route) {
	if r.list(route.show()) {
		r.Routes = append(r.Routes, *route)
	} else {
		r.left.addRoute(route)
	}
}

// AddBroken adds a document that cannot be read, in the same way.
func (r *CheckReport) AddBroken(broken Broken) {
	broken.Message = shown(broken.Message)
	if r.list(len(broken.File) + len(broken.Message)) {
		r.Broken = append(r.Broken, broken)
	} else {
		r.left.Broken++
	}
}

// AddDuplicate adds an object that was declared before, in the same way.
func (r *CheckReport) AddDuplicate(duplicate Duplicate) {
	if r.list(len(duplicate.File) + len(duplicate.Object) + len(duplicate.First.File)) {
		r.Duplicates = append(r.Duplicates, duplicate)
	} else {
		r.left.Warnings++
	}
}

// CountRoutes returns the number of routes that were judged, whether or not they are listed.
func (r *CheckReport) CountRoutes() int { return len(r.Routes) + r.left.Routes }

// list reports whether there is room for a part of that size. Each takes a little more than its texts.
func (r *CheckReport) list(size int) bool {
	const least = 64
	if r.listed+size+least > maxListed {
		r.left.NotListed++
		return false
	}
	r.listed += size + least
	return true
}

// show makes the texts of the route what is shown, and returns how large they are.
func (r *Route) show() (size int) {
	size = len(r.Kind) + len(r.Namespace) + len(r.Name) + len(r.File) + len(r.Set)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Field, f.Problem, f.Remedy, f.Message = printable.Shortened(f.Field), shown(f.Problem), shown(f.Remedy), shown(f.Message)
		if text, is := f.Value.(string); is {
			f.Value = printable.Shortened(text)
			size += len(text)
		}
		size += len(f.Field) + len(f.File) + len(f.Problem) + len(f.Remedy) + len(f.Message)
	}
	for _, changes := range [][]Change{r.Changes, r.Withheld} {
		for i := range changes {
			changes[i].Message = shown(changes[i].Message)
			size += len(changes[i].Field) + len(changes[i].File) + len(changes[i].Message)
		}
	}
	for i := range r.Status.Parents {
		parent := &r.Status.Parents[i]
		size += len(parent.ParentRef)
		for j := range parent.Conditions {
			size += len(parent.Conditions[j].Message)
		}
	}
	return size
}

// shown returns a message on one line, of bounded length.
func shown(text string) string { return printable.Shortened(printable.Text(text)) }
