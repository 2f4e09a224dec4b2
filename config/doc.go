// Package config is Sluice's configuration file: its types, and how it is
// loaded, defaulted and validated.
//
// A [File] comes from [Load] (strictly: unknown and repeated fields are
// errors), is overridden by flags, completed by [File.Default] and checked by
// [File.Validate], which names every problem and its field. After that it must
// not be changed.
package config
