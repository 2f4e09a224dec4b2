package codec

// Helpers of this package's tests for those of package codec_test, which may import negotiate.
var (
	Equal       = equal
	WriteList   = writeList
	ParseStatus = parseStatus
	FirstItem   = firstItem
	SameCBOR    = sameCBOR
)
