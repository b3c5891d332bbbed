package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// example is a scenario, and what came of it.
type example struct {
	scenario *runner.Scenario
	files    []txtar.File
	// answers are what applying each document led to, by the document.
	answers map[*runner.Document]*runner.Outcome
}

// loadExamples reads all scenarios and plays them over the core.
func loadExamples(ctx context.Context, folder string) ([]*example, error) {
	scenarios, err := runner.Load(folder)
	if err != nil {
		return nil, err
	}
	var errs []error
	core, err := runner.NewCore(ctx)
	if err != nil {
		return nil, err
	}
	var examples []*example
	for _, scenario := range scenarios {
		data, err := os.ReadFile(scenario.Path)
		if err != nil {
			return nil, err
		}
		e := &example{scenario: scenario, files: txtar.Parse(data).Files, answers: map[*runner.Document]*runner.Outcome{}}
		errs = append(errs, runner.Play(ctx, &recorder{core, e}, scenario)...)
		examples = append(examples, e)
	}
	return examples, errors.Join(errs...)
}

// recorder is a driver that keeps what came of each document.
type recorder struct {
	runner.Driver
	example *example
}

func (r *recorder) Begin(ctx context.Context, scenario *runner.Scenario) (runner.Session, error) {
	session, err := r.Driver.Begin(ctx, scenario)
	return &recording{session, r.example}, err
}

type recording struct {
	runner.Session
	example *example
}

func (r *recording) Apply(ctx context.Context, document *runner.Document) (*runner.Outcome, error) {
	outcome, err := r.Session.Apply(ctx, document)
	r.example.answers[document] = outcome
	return outcome, err
}

// about reports whether the scenario's path names the ID, and not only as a part of a
// longer one.
func (e *example) about(id string) bool {
	name := e.scenario.Name
	for _, topic := range explain.Topics() {
		if len(topic.ID) > len(id) && strings.Contains(topic.ID, id) {
			name = strings.ReplaceAll(name, topic.ID, "")
		}
	}
	return strings.Contains(name, id)
}

// shows reports whether some verdict names the ID.
func (e *example) shows(id string) bool {
	for _, outcome := range e.answers {
		if outcome != nil && (slices.Contains(outcome.Rules, id) || slices.Contains(outcome.Warnings, id)) {
			return true
		}
	}
	return false
}

// link is the path of the scenario from docs/rules.
func (e *example) link() string {
	return "../../test/scenarios/" + filepath.ToSlash(e.scenario.Name) + ".txtar"
}
