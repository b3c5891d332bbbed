//go:build e2e

package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// tab is a page in Chromium, driven by the DevTools protocol over pipes, as a user drives it: the page's own
// Content-Security-Policy holds.
type tab struct {
	t       *testing.T
	w       io.Writer
	r       *bufio.Reader
	id      int
	session string
	// complaints are what the console and the log of the page say.
	complaints []string
}

// newTab starts Chromium, with an empty page of that height.
func newTab(t *testing.T, height int) *tab {
	t.Helper()
	commands, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	cmd := chromium(ctx, t, "--remote-debugging-pipe", fmt.Sprintf("--window-size=1440,%d", height))
	cmd.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = commands.Close()
	_ = answers.Close()
	tab := &tab{t: t, w: w, r: bufio.NewReader(r)}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = w.Close()
		_ = r.Close()
	})
	var target struct{ TargetID, SessionID string }
	tab.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	tab.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	tab.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		tab.call(domain+".enable", nil, nil)
	}
	return tab
}

// call calls a method, and notes what the page says meanwhile.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	if params == nil {
		params = struct{}{}
	}
	message := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err == nil {
		_, err = b.w.Write(append(data, 0))
	}
	for err == nil {
		var line []byte
		if line, err = b.r.ReadBytes(0); err != nil {
			break
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err = json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			break
		}
		switch answer.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
			b.complaints = append(b.complaints, string(answer.Params))
		case "Network.requestWillBeSent":
			if text := string(answer.Params); !strings.Contains(text, `"url":"file:`) && !strings.Contains(text, `"url":"about:`) {
				b.complaints = append(b.complaints, text)
			}
		}
		if answer.ID != b.id {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error)
		}
		if result != nil {
			err = json.Unmarshal(answer.Result, result)
		}
		break
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// eval returns the value of an expression, as text.
func (b *tab) eval(expression string) string {
	b.t.Helper()
	var answer struct{ Result struct{ Value any } }
	b.call("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")"}, &answer)
	return fmt.Sprint(answer.Result.Value)
}

// wait waits until the expression has a text.
func (b *tab) wait(expression, text string) {
	b.t.Helper()
	got := ""
	for range 600 {
		if got = b.eval(expression); strings.Contains(got, text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("%s is %q, want %q; %q", expression, got, text, b.complaints)
}

// replace selects all of a field, and types.
func (b *tab) replace(id, text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(document.getElementById(%[1]q).focus(), document.getElementById(%[1]q).select())", id))
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// screenshot returns a picture of the page.
func (b *tab) screenshot() []byte {
	b.t.Helper()
	var answer struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": false}, &answer)
	png, err := base64.StdEncoding.DecodeString(answer.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}
