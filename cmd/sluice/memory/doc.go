// Package memory bounds and shows the memory of the process: how much of it Go may use, how much garbage may
// gather, the memory that is returned to the operating system, and the holders of the rest.
package memory
