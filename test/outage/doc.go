// Package outage takes the apiserver away from a Sluice in several ways, and checks what clients get meanwhile and after it.
package outage
