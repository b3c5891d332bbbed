package mesh

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Controllers are the ownerReferences of an object: of these, the first with controller: true,
// and none where there is none. The API server refuses a second one.
type Controllers []Controller

// Controller is an object that owns another one, and has a controller that writes it.
type Controller struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Controls is not set for an owner that only has the object deleted with it.
	Controls bool `json:"controller"`
}

// UnmarshalJSONFrom keeps one, however many owners there are.
func (c *Controllers) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // the library reads null, and refuses the rest
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	*c = nil
	for d.PeekKind() != ']' {
		var owner Controller
		if err := json.UnmarshalDecode(d, &owner); err != nil {
			return err
		}
		if owner.Controls && *c == nil {
			*c = Controllers{owner}
		}
	}
	_, err := d.ReadToken()
	return err
}

// Controller returns the object whose controller writes the route, or nil: what it sets,
// it sets again.
func (r *Route) Controller() *Controller {
	if len(r.Metadata.Controllers) == 0 {
		return nil
	}
	return &r.Metadata.Controllers[0]
}

// maxControllerText bounds each part of a controller's name in a text. The API server takes any.
const maxControllerText = 80

// In reads "Canary shop/podinfo" for the controller of an object in the namespace. The API
// server checks neither word, so that each is quoted unless it is as names are.
func (c *Controller) In(namespace string) string {
	return plain(c.Kind) + " " + namespace + "/" + plain(c.Name)
}

// InController reads " in Canary shop/podinfo, which writes this route", for the end of a remedy
// that no mutation makes; it is empty where no controller writes the route.
func (r *Route) InController() string {
	controller := r.Controller()
	if controller == nil {
		return ""
	}
	return " in " + controller.In(r.Metadata.Namespace) + ", which writes this route"
}

// plain returns the text, or quotes it if it has characters that names do not have.
func plain(text string) string {
	if len(text) > maxControllerText {
		text = strings.ToValidUTF8(text[:maxControllerText], "") + "..."
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-.:_", r)
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.QuoteToASCII(text)
	}
	return text
}
