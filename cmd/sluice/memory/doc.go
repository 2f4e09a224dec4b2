// Package memory bounds and shows the memory of the process: how much of it Go may use, how much garbage may
// gather, what is returned to the operating system, and what holds the rest.
package memory
