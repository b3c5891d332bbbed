package runner_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// shownElsewhere are the fields whose effect no scenario can show, each with the test that
// shows it.
var shownElsewhere = map[string]string{
	"preview":                      "webhook.TestPreview",
	"reports":                      "test/status.TestReports",
	"status.controllerName":        "test/attack.TestFormerName", // scenarios look at the entries under whichever name
	"status.formerControllerNames": "test/attack.TestFormerName",
}

// TestEveryField: for each field of the configuration, there is a scenario that sets it, and
// whose outcome is another one without it.
func TestEveryField(t *testing.T) {
	core, err := runner.NewCore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scenarios := load(t)
	for path, reset := range fields(reflect.TypeFor[config.GuardConfiguration](), "") {
		if test, is := shownElsewhere[path]; is {
			if !declares(t, test) {
				t.Errorf("%s: there is no test %s", path, test)
			}
			continue
		}
		if !slices.ContainsFunc(scenarios, func(scenario *runner.Scenario) bool {
			without := *scenario
			changed := *scenario.Config
			if without.Config = &changed; !reset(reflect.ValueOf(&changed).Elem(), reflect.ValueOf(config.Default()).Elem()) {
				return false
			}
			return len(runner.Play(t.Context(), core, &without)) > 0
		}) {
			t.Errorf("no scenario shows the effect of %s", path)
		}
	}
}

// resetter gives a field of a configuration the value of another one, and reports whether
// that is a change.
type resetter func(of, to reflect.Value) bool

// fields returns the fields of a struct, and of those in it, by their paths in the file.
func fields(of reflect.Type, prefix string) map[string]resetter {
	all := map[string]resetter{}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" { // apiVersion and kind
			continue
		}
		element := field.Type
		if element.Kind() == reflect.Slice {
			element = element.Elem()
		}
		if element.Kind() != reflect.Struct {
			all[prefix+name] = resetField(i)
			continue
		}
		for path, reset := range fields(element, prefix+name+".") {
			all[path] = resetIn(i, reset)
		}
	}
	return all
}

func resetField(i int) resetter {
	return func(of, to reflect.Value) bool {
		if reflect.DeepEqual(of.Field(i).Interface(), to.Field(i).Interface()) {
			return false
		}
		of.Field(i).Set(to.Field(i))
		return true
	}
}

// resetIn resets a field of the struct, or of each struct of the list, in a field.
func resetIn(i int, reset resetter) resetter {
	return func(of, to reflect.Value) bool {
		if of.Field(i).Kind() != reflect.Slice {
			return reset(of.Field(i), to.Field(i))
		}
		list := reflect.MakeSlice(of.Field(i).Type(), of.Field(i).Len(), of.Field(i).Len())
		reflect.Copy(list, of.Field(i))
		of.Field(i).Set(list)
		changed := false
		for j := range list.Len() {
			changed = reset(list.Index(j), reflect.Zero(list.Index(j).Type())) || changed
		}
		return changed
	}
}

// declares reports whether a test such as webhook.TestPreview exists.
func declares(t *testing.T, test string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(test, ".")
	files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}
