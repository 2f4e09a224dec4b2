// Package authz sends the same requests, as callers with different rights who authenticate in different
// ways, to a real apiserver and to Sluice: both must answer with the same code and the same message.
// It also revokes rights under open watches.
package authz
