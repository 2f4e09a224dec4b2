// Package docs compares the documents with the code: names, commands, links. It contains only tests.
package docs
