package check

import (
	"errors"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// surroundings are the objects that the context names. They are read once for all sets.
type surroundings struct {
	objects *manifest.Set
	// broken are the documents that cannot be read; each is a *manifest.Error. routes are the files that hold routes.
	broken []error
	routes []string
	slips  []report.Notice
	// err is why files cannot be read.
	err error
}

// surround reads the context. A repository may name it, so that it counts as input does: it has no routes, which would make
// updates of those in the input, and no definitions.
func surround(options *Options, disk *source.Disk, profile *mesh.Profile) *surroundings {
	if len(options.Context) == 0 {
		return nil
	}
	s := &surroundings{objects: manifest.NewSet(manifest.Options{Mesh: profile})}
	input := disk.Beside(options.contextWithin).Input(nil)
	for _, f := range input.Read(options.Context) {
		s.broken = append(s.broken, f.Broken...)
		routes := false
		for i := range f.Documents {
			d := &f.Documents[i]
			s.slips = append(s.slips, noted(f.Name, d)...)
			if routes = routes || d.IsRoute(); d.IsRoute() || definesRoutes(d.Key) {
				continue
			}
			if err := s.objects.Put(d.Object); err != nil {
				s.broken = append(s.broken, broken(d, err))
			}
		}
		if routes {
			s.routes = append(s.routes, f.Name)
		}
	}
	for _, notice := range unbuiltNotices(input.Unbuilt(options.Context, false), unbuiltContext) {
		notice.Explains = true
		s.slips = append(s.slips, notice)
	}
	s.err = errors.Join(input.Errors()...)
	return s
}

// forAll returns the options with the context read, for all sets.
func forAll(options *Options, disk *source.Disk) (*Options, error) {
	engine, err := validate.New(rules.Catalog(), options.Config.Policy())
	if err != nil {
		return nil, err
	}
	over := *options
	over.context = surround(options, disk, engine.Policy().Mesh)
	return &over, nil
}

// surround reads the context for this input alone.
func (l *loader) surround(disk *source.Disk) {
	s := surround(l.options, disk, l.engine.Policy().Mesh)
	if l.world.context = s; s == nil {
		return
	}
	l.broken = append(l.broken, s.broken...)
	l.unread = s.err
	l.slips = append(l.slips, s.slips...)
	l.besides = s.routes
}

// noteContext notes which files of the context have routes, unless the input has them too, whose routes count.
func (l *loader) noteContext(input *source.Input) {
	if len(l.besides) == 0 {
		return
	}
	has := map[string]bool{}
	for _, f := range l.files {
		has[input.Resolved(f.Name)] = true
	}
	for _, name := range l.besides {
		if !has[input.Resolved(name)] {
			l.notices = append(l.notices, report.Notice{Path: filepath.ToSlash(name), Message: "its routes are not checked: " + sets.ProjectFile + " names it as context"})
		}
	}
}

// former is what the version before has as context, and the one after has not, though it is still there: it was not removed.
type former struct {
	*surroundings
	paths []string
	asked bool
}

// newFormer reads it, as the version after has it.
func newFormer(before, after *Options, disk *source.Disk, profile *mesh.Profile) *former {
	f := &former{}
	if before.project == nil || after.project == nil {
		return f
	}
	if f.paths = after.project.Dropped(before.project); len(f.paths) > 0 {
		over := *after
		over.Context = f.paths
		f.surroundings = surround(&over, disk, profile)
	}
	return f
}

// Do implements mesh.Reader.
func (f *former) Do(read mesh.Read) mesh.Answer {
	answer := f.read(read)
	f.asked = f.asked || answer.Err == nil
	return answer
}

// notes says what was taken of it.
func (f *former) notes() (notes []string) {
	if !f.asked {
		return nil
	}
	is := " is no longer context in "
	if len(f.paths) > 1 {
		is = " are no longer context in "
	}
	return []string{firstOf(f.paths) + is + sets.ProjectFile + ": what is still there is compared as it is, and is unknown to check"}
}

// read asks the context; what it does not have is unknown.
func (s *surroundings) read(read mesh.Read) mesh.Answer {
	if s == nil {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return s.objects.Do(read)
}

// noted returns what check notes of the context.
func (s *surroundings) noted() []report.Notice {
	if s == nil {
		return nil
	}
	return s.slips
}

// get returns an object of the context, or nil.
func (s *surroundings) get(key manifest.Key) *manifest.Object {
	if s == nil {
		return nil
	}
	return s.objects.Get(key)
}
