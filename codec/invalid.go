package codec

import "strings"

// FieldError is one complaint about list options, such as
//
//	{"resourceVersionMatch", FieldForbidden, "resourceVersionMatch is forbidden unless resourceVersion is provided"}
//
// or, for FieldNotSupported, the value and the supported ones in the message's own form.
type FieldError struct {
	Field, Reason, Text string
}

// The reasons of a FieldError, as they stand in a cause.
const (
	FieldForbidden    = "FieldValueForbidden"
	FieldNotSupported = "FieldValueNotSupported"
	FieldInvalid      = "FieldValueInvalid"
)

// fieldWords are what the message says for each reason.
var fieldWords = map[string]string{
	FieldForbidden:    "Forbidden",
	FieldNotSupported: "Unsupported value",
	FieldInvalid:      "Invalid value",
}

// body is the complaint without its field.
func (e FieldError) body() string { return fieldWords[e.Reason] + ": " + e.Text }

// NewInvalidOptions is the 422 of list options that contradict each other (wire.md 4.2, 7.3). errs must not be empty.
func NewInvalidOptions(errs ...FieldError) *Status {
	s := &Status{Reason: "Invalid", Code: 422, Details: &Details{Group: "meta.k8s.io", Kind: "ListOptions"}}
	var lines []string
	for _, e := range errs {
		s.Details.Causes = append(s.Details.Causes, Cause{Reason: e.Reason, Message: e.body(), Field: e.Field})
		lines = appendUnique(lines, e.Field+": "+e.body())
	}
	text := strings.Join(lines, ", ")
	if len(lines) != 1 {
		text = "[" + text + "]"
	}
	s.Message = `ListOptions.meta.k8s.io "" is invalid: ` + text
	return s
}

// appendUnique appends line unless it is there: the apiserver's message names each complaint once.
func appendUnique(lines []string, line string) []string {
	for _, l := range lines {
		if l == line {
			return lines
		}
	}
	return append(lines, line)
}
