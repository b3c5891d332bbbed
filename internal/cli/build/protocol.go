package build

import "time"

// request is what the parent sends: a job, or the answer to a question.
type request struct {
	Kustomization *kustomization
	Chart         *Chart
	// Limit is how long the job may take.
	Limit time.Duration

	Answer *answer
}

// kustomization is a folder to build.
type kustomization struct {
	Folder string
	// File is the kustomization itself, by its path without links.
	File string
}

// reply is what the child sends: a question about a file, or the result of the job.
type reply struct {
	Question *question
	Result   *result
}

// question asks for the content of a file, or, to resolve it, for its path without links.
type question struct {
	Path    string
	Resolve bool
}

// answer answers it.
type answer struct {
	Data     []byte
	Resolved string
	IsFolder bool
	Error    string
	Missing  bool
}

// result is what came out.
type result struct {
	Resources []Resource
	Rendered  map[string]Rendered
	// Missing are the dependencies that the chart lacks.
	Missing []string
	Error   string
	// Remote, NotLoaded and NotParsed say what kind of error it is.
	Remote, NotLoaded, NotParsed bool
}

// Resource is an object that kustomize built.
type Resource struct {
	// Origin is the file that it comes from, relative to the folder that was built; empty if it is not
	// known, or remote.
	Origin string
	JSON   []byte
}

// Rendered is what a template of a chart made, or one of its CustomResourceDefinitions.
type Rendered struct {
	Text string
	// File is the name of the file among those of the chart that it was loaded from; empty for one in an archive.
	File string
	// Definition is set for one in the directory crds.
	Definition bool
}

// Chart is a Helm chart to render.
type Chart struct {
	// Files are the files of the chart, and Values those that override its values.
	Files, Values []File
	Namespace     string
	// APIVersions are those that templates can ask for, beside Kubernetes' own.
	APIVersions []string
	// Without are the dependencies that are left out.
	Without []string
}

// File is a file of a chart.
type File struct {
	Name string
	Data []byte
}
