package table

import "sluice/codec/json"

// appendGoSelector appends a label selector the way its Go type's String
// method prints it. Only references to parameters are shown like that.
func appendGoSelector(dst []byte, selector json.Value) []byte {
	dst = append(dst, "&LabelSelector{MatchLabels:map[string]string{"...)
	for key, v := range selector.Get("matchLabels").Members {
		dst = append(append(dst, key...), ": "...)
		dst = append(appendScalar(dst, v), ',')
	}
	dst = append(dst, "},MatchExpressions:[]LabelSelectorRequirement{"...)
	for _, e := range selector.Get("matchExpressions").Elements {
		dst = append(dst, "LabelSelectorRequirement{Key:"...)
		dst = appendScalar(dst, e.Get("key"))
		dst = append(dst, ",Operator:"...)
		dst = appendScalar(dst, e.Get("operator"))
		dst = append(dst, ",Values:["...)
		dst = appendJoined(dst, e.Get("values"), " ")
		dst = append(dst, "],},"...)
	}
	return append(dst, "},}"...)
}
