// Package pressure tests what Sluice costs the apiserver while it cannot serve from its cache: the events
// are held back, Sluice has just started, the apiserver refuses requests. A relay between the two counts
// what passes and injects the faults.
package pressure
