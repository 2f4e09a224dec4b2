package watch

const (
	Batch             = batch
	RecheckLimit      = recheckLimit
	RecheckSpread     = recheckSpread
	DoubtfulFor       = doubtfulFor
	RevokedWriteLimit = revokedWriteLimit
)
