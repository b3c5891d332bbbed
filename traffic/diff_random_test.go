package traffic

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// contains reports whether a request is of the class, by what the class says.
func (c *Class) contains(r *Request, consumers map[string]bool) bool {
	if c.From == "" && consumers[r.From] || c.From != "" && c.From != r.From {
		return false
	}
	if c.Method != "" && c.Method != r.method() {
		return false
	}
	for _, text := range c.Conditions {
		name, want, _ := strings.Cut(strings.TrimPrefix(text, "?"), "=")
		got, ok := r.Headers[name]
		if strings.HasPrefix(text, "?") {
			got, ok = r.Query[name]
		}
		if !ok || got != want {
			return false
		}
	}
	return within(c.Where, r)
}

// within reports whether a request is where the class says: "/v2*", "grpc a.B/*".
func within(where string, r *Request) bool {
	where, _, _ = strings.Cut(where, " such as ")
	rest, notGRPC := strings.CutPrefix(where, notGRPC)
	if notGRPC && r.GRPC() {
		return false
	}
	where = strings.TrimSpace(rest)
	if call, ok := strings.CutPrefix(where, "grpc "); ok {
		gotService, gotName, isCall := r.call()
		if !isCall || strings.HasPrefix(call, "~ /") {
			return isCall && matches(call, r.path())
		}
		service, name, _ := strings.Cut(call, "/")
		is := func(text, got string) bool {
			return text == "*" || text == got || strings.HasPrefix(text, "~ ") && matches(text, got)
		}
		return is(service, gotService) && is(name, gotName)
	}
	if strings.HasPrefix(where, "~ ") {
		return matches(where, r.path())
	}
	under, isPrefix := strings.CutSuffix(where, "*")
	under = strings.TrimRight(under, "/")
	return where == "" || where == r.path() || isPrefix && (r.path() == under || strings.HasPrefix(r.path(), under+"/"))
}

// matches reports whether a path meets all regular expressions, and is below the prefix: "~ /a.* and ~ /.*b and /a*".
func matches(text, path string) bool {
	for expression := range strings.SplitSeq(text, " and ") {
		if prefix, is := strings.CutSuffix(expression, "*"); is && !strings.HasPrefix(expression, "~ ") {
			if path != prefix && !strings.HasPrefix(path, prefix+"/") {
				return false
			}
			continue
		}
		if !regexp.MustCompile("^(?:" + strings.TrimPrefix(expression, "~ ") + ")$").MatchString(path) {
			return false
		}
	}
	return true
}

// excepts reports whether the class says that the request is an exception; it may be
// where not all exceptions are named.
func (c *Class) excepts(r *Request) (is, maybe bool) {
	for _, text := range c.Except {
		if text == "..." {
			return false, true
		}
		if within := readClass(text); within.contains(r, nil) {
			return true, true
		}
	}
	return false, false
}

// readClass reads the text of an exception: "/v2* GET tenant=gold", "~ /a.* and ~ /.*b".
func readClass(text string) *Class {
	c := &Class{}
	fields := strings.Fields(text)
	for i, field := range fields {
		switch {
		case strings.HasPrefix(field, "/"), field == "grpc", field == "~", field == "and", i > 0 && (fields[i-1] == "grpc" || strings.HasSuffix(fields[i-1], "~")):
			c.Where = strings.TrimSpace(c.Where + " " + field)
		case strings.Contains(field, "="):
			c.Conditions = append(c.Conditions, field)
		default:
			c.Method = field
		}
	}
	return c
}

// oracle answers for a table, and remembers what it worked out.
type oracle struct {
	table  *Table
	routes map[portOf]*portRoutes
	keys   map[*entry]string
}

func newOracle(table *Table) *oracle {
	return &oracle{table, map[portOf]*portRoutes{}, map[*entry]string{}}
}

// fate is what becomes of a request, by the engine.
func (o *oracle) fate(t testing.TB, r *Request) string {
	t.Helper()
	routes := o.at(t, r)
	e := routes.decide(r)
	if e != nil && o.keys[e] != "" {
		return o.keys[e]
	}
	outcome, _, err := o.table.outcomeOf(routes, e)
	if err != nil {
		t.Fatal(err)
	}
	if e != nil {
		o.keys[e] = outcome.key()
	}
	return outcome.key()
}

func (o *oracle) at(t testing.TB, r *Request) *portRoutes {
	t.Helper()
	where := portOf{r.Port, r.From}
	if o.routes[where] == nil {
		routes, err := o.table.portRoutesOf(r)
		if err != nil {
			t.Fatal(err)
		}
		o.routes[where] = routes
	}
	return o.routes[where]
}

// portOf is what the routes that a request meets depend on.
type portOf struct {
	port int32
	from string
}

// misreport compares the difference of two random versions with the fates of random
// requests, and returns where it is wrong. Compare is the order of matches that the
// difference is made with, and work what it may take.
func misreport(t testing.TB, c *choices, requests int, compare func(a, b *entry) int, work int) string {
	t.Helper()
	w := newWorld()
	w.read(t, shop)
	old := c.routes()
	changed := c.routes()
	if c.maybe(60) { // most routes stay as they are
		changed.HTTP = append(changed.HTTP[:min(1, len(changed.HTTP))], old.HTTP...)
		changed.GRPC = append(changed.GRPC[:0], old.GRPC[min(c.below(2), len(old.GRPC)):]...)
	}
	options := c.options(t)
	withoutExpressions(options, old, changed)
	if options.Engine == nil {
		c.addExpressions(old)
		c.addExpressions(changed)
	}
	before, after := tableOf(w, old.stored(t), options), tableOf(w, changed.stored(t), options)
	was, is := newOracle(before), newOracle(after.since(before))
	faulty := *after
	faulty.compare = compare
	difference, err := DiffWithin(before, &faulty, work)
	if err != nil {
		t.Fatal(err)
	}
	changes, keys := map[int32][]Change{}, map[int32][][2]string{}
	for _, port := range difference.Ports {
		if port.WitnessesOnly && work == maxComparisons {
			return "witnesses only"
		}
		changes[port.Port] = port.Changes
		for _, change := range port.Changes {
			got := [2]string{was.fate(t, &change.Witness), is.fate(t, &change.Witness)}
			want := [2]string{change.Before.key(), change.After.key()}
			keys[port.Port] = append(keys[port.Port], want)
			if got != want || got[0] == got[1] {
				return fmt.Sprintf("witness %s of %s: want %s, got %s\n%s", &change.Witness, &change.Class, want, got, difference)
			}
			if !change.Class.contains(&change.Witness, nil) && change.Class.From == "" {
				return fmt.Sprintf("witness %s is not of its class %s\n%s", &change.Witness, &change.Class, difference)
			}
		}
	}
	for range requests {
		r := c.request()
		got := [2]string{was.fate(t, &r), is.fate(t, &r)}
		consumers := map[string]bool{r.From: was.at(t, &r).scope.ConsumerNamespace != "" || is.at(t, &r).scope.ConsumerNamespace != ""}
		announced := false
		for i := range changes[r.Port] {
			change := &changes[r.Port][i]
			if !change.Class.contains(&r, consumers) {
				continue
			}
			excepted, maybe := change.Class.excepts(&r)
			if keys[r.Port][i] == got {
				announced = announced || !excepted
			} else if !maybe {
				return fmt.Sprintf("request %s is of class %s, and no exception, but gets %s\n%s", &r, &change.Class, got, difference)
			}
		}
		if got[0] != got[1] && !announced {
			return fmt.Sprintf("request %s changes from %s to %s\n%s", &r, got[0], got[1], difference)
		}
	}
	return ""
}

// addExpressions has GRPCRoutes match services and methods by regular expressions, too. Those of one can match all that another does, a part of it, or nothing.
func (c *choices) addExpressions(routes apiRoutes) {
	kind := gatewayv1.GRPCMethodMatchRegularExpression
	for _, route := range routes.GRPC {
		for i := range route.Spec.Rules {
			for j := range route.Spec.Rules[i].Matches {
				if m := &route.Spec.Rules[i].Matches[j]; c.maybe(40) {
					service, method := pick(c, "", "a[.]S", "a.S", "a[.]S|bb[.]S", "[abc].*", ".*"), pick(c, "", "Do", "Do|Undo", "Un.*", "[A-Z]o", ".*")
					m.Method = &gatewayv1.GRPCMethodMatch{Type: &kind, Service: &service, Method: &method}
				}
			}
		}
	}
}

func TestDiffOfRandomRoutes(t *testing.T) {
	for seed := range uint64(500) {
		if wrong := misreport(t, randomChoices(seed, 40_000), 2000, compareEntries, maxComparisons); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}

// TestDiffBeyondItsBound: with little work every change is one, too.
func TestDiffBeyondItsBound(t *testing.T) {
	for seed := range uint64(500) {
		if wrong := misreport(t, randomChoices(seed, 400), 0, compareEntries, int(seed)); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}

// TestDiffOfManyOthers: where no match stays as it is, there is a witness for each,
// and it is said that there may be other changes.
func TestDiffOfManyOthers(t *testing.T) {
	w := newWorld()
	w.read(t, shop)
	before, after := tableOf(w, manyTenants(1000, "tenant", "cart-v1").stored(t), Options{}), tableOf(w, manyTenants(1000, "team", "cart-v2").stored(t), Options{})
	difference, err := Diff(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if len(difference.Ports) != 1 || !difference.Ports[0].WitnessesOnly || difference.Changes() != 10_000 || !strings.Contains(difference.String(), onlyWitnesses) {
		t.Errorf("%d changes: %.1000s", difference.Changes(), difference)
	}
}

// TestDiffOfRandomRoutesFindsFaults makes the difference with the matches of the
// new version in a wrong order.
func TestDiffOfRandomRoutesFindsFaults(t *testing.T) {
	backwards := func(a, b *entry) int { return -compareEntries(a, b) }
	for seed := range uint64(100) {
		if misreport(t, randomChoices(seed, 4000), 100, backwards, maxComparisons) != "" {
			return
		}
	}
	t.Error("not found in 100 differences")
}

func FuzzDiff(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomChoices(seed, 600).bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if wrong := misreport(t, &choices{bytes}, 20, compareEntries, maxComparisons); wrong != "" {
			t.Error(wrong)
		}
	})
}
