package codec

// yamlLayout is YAML: keys sorted, so that a list's items stand in its middle and a Table's rows at its end. It is never
// used for watches.
type yamlLayout struct{ jsonLayout }
