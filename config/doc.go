// Package config defines Sluice's configuration file: its types, and how it is read, defaulted and
// validated.
//
// [Read] decodes a [File] and records every problem with its place: unknown and duplicate fields, and
// values of a wrong type. Flags override the File, and [Document.Check] sets the other fields to their
// defaults and returns all problems, those of invalid values too. After that a File must not be changed.
//
// The comments on the types are the documentation of the file: docs/config.yaml and [Schema] are generated from them.
package config
