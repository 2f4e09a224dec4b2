// Package message holds Sluice's own messages to clients, in a Status, an ERROR event of a watch or a plain
// response. All of it begins with a prefix that tells it from the apiserver's own words, says how to go on, and
// has a row in docs/troubleshooting.md. Where Sluice answers in the apiserver's place, it uses the apiserver's words
// instead: for an object that is not found, or a version that is too old.
package message

import "fmt"

// Prefix begins every message.
const Prefix = "Sluice: "

// Message is one of the messages.
type Message struct {
	Name string // the row of docs/troubleshooting.md
	Text string // what has happened, with verbs of package fmt for what differs
	Do   string // what can be done about it
}

// Say returns the message for a client.
func (m Message) Say(args ...any) string {
	return Prefix + fmt.Sprintf(m.Text, args...) + "; " + m.Do
}
