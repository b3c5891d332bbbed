package webhook

import (
	"bytes"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// errSlow is why a review is left to the JSON library.
var errSlow = errors.New("not as it is usually written")

// quickDecode reads a review as mesh.Decode does, in about half of the time, if it is written
// as the API server writes it. If there is anything unusual to it (a mistake, a null, a name
// that comes twice, a list that is too long, a lone surrogate), it reports false, and the
// JSON library has to read it, which says what is wrong. The envelope must be empty, and has
// no meaning after false. All functions but the few in this file are generated from the tags
// of the types, see TestGenerated.
func quickDecode(body []byte, e *envelope) bool {
	if !utf8.Valid(body) || bytes.Contains(body, []byte(`\ud`)) || bytes.Contains(body, []byte(`\uD`)) {
		return false
	}
	d := jx.DecodeBytes(body)
	return quickEnvelope(d, e) == nil && errors.Is(d.Skip(), io.EOF) // and nothing behind it
}

// seenFields are the fields of an object that were seen, by index.
type seenFields uint32

// again reports whether the field was seen before.
func (f *seenFields) again(i int) bool {
	before := *f
	*f |= 1 << i
	return before == *f
}

func quickString[T ~string](d *jx.Decoder, v *T) error {
	text, err := d.StrBytes()
	*v = T(text)
	return err
}

func quickBool(d *jx.Decoder, v *bool) (err error) {
	*v, err = d.Bool()
	return err
}

func quickInt(d *jx.Decoder, v *int) (err error) {
	*v, err = d.Int()
	return err
}

func quickInt32(d *jx.Decoder, v *int32) (err error) {
	*v, err = d.Int32()
	return err
}

func quickInt64(d *jx.Decoder, v *int64) (err error) {
	*v, err = d.Int64()
	return err
}

func quickTime(d *jx.Decoder, v *time.Time) error {
	text, err := d.StrBytes()
	if err != nil {
		return err
	}
	return v.UnmarshalText(text)
}

func quickRaw(d *jx.Decoder, v *jsontext.Value) error {
	raw, err := d.Raw()
	*v = jsontext.Value(raw)
	return err
}

func quickMethod(d *jx.Decoder, v *mesh.MethodMatch) error {
	if d.Next() == jx.String {
		return quickString(d, &v.HTTP)
	}
	return quickMethodMatch(d, v)
}

func quickControllers(d *jx.Decoder, v *mesh.Controllers) error {
	return d.Arr(func(d *jx.Decoder) error {
		var owner mesh.Controller
		err := quickController(d, &owner)
		if owner.Controls && *v == nil {
			*v = mesh.Controllers{owner}
		}
		return err
	})
}

func quickObject(d *jx.Decoder, v *object) error { return quickRoute(d, &v.route) }

// quickText returns the object of a review that was read, as it was posted.
func quickText(body []byte) []byte {
	var text jsontext.Value
	err := jx.DecodeBytes(body).ObjBytes(func(d *jx.Decoder, key []byte) error {
		if string(key) != "request" {
			return d.Skip()
		}
		return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
			if string(key) != "object" {
				return d.Skip()
			}
			return quickRaw(d, &text)
		})
	})
	if err != nil {
		return nil
	}
	return text
}
