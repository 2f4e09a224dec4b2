// Package config defines Sluice's configuration file: its types, and how it is loaded, defaulted and
// validated.
//
// [Load] reads a [File] strictly: unknown and duplicate fields are errors. Flags override it, then
// [File.Default] sets what is unset, and [File.Validate] reports every invalid field. After that a
// File must not be changed.
package config
