// Package fence proves that a store shows everything that the apiserver had committed when a read began, at the
// least cost for the apiserver. See [Fence].
package fence
