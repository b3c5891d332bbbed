package main

import (
	"encoding/json"
	"syscall/js"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// main answers the page's questions, which are JSON, until the page is closed.
func main() {
	js.Global().Set("gammaguard", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var q question
		var a answer
		err := json.Unmarshal([]byte(args[0].String()), &q)
		if err == nil {
			err = a.ask(&q)
		}
		if err != nil {
			a.Text = "error: " + printable.Error(err)
		}
		text, _ := json.Marshal(&a) //nolint:errchkjson // of strings and numbers
		return string(text)
	}))
	select {}
}
