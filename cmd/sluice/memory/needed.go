package memory

// Needed returns how many bytes the process takes besides garbage, what it can return, and pages of files.
func Needed() int64 {
	k := readKinds(0, 0, 0)
	return int64(k.other + k.unused + k.runtime)
}
