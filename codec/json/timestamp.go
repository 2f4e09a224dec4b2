package json

// IsTimestamp reports whether text is certainly a time in the form in which metav1.Time prints it,
// such as 2006-01-02T15:04:05Z. False says nothing: days above 28, for example, are left to
// time.Parse.
func IsTimestamp(text []byte) bool {
	const form = "0000-00-00T00:00:00Z"
	if len(text) != len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if c == '0' && (text[i] < '0' || text[i] > '9') || c != '0' && text[i] != c {
			return false
		}
	}
	two := func(i int) int { return int(text[i]-'0')*10 + int(text[i+1]-'0') }
	month, day := two(5), two(8)
	return month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(11) < 24 && two(14) < 60 && two(17) < 60
}
