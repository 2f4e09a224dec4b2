// Package docs compares the documents for operators with the code. It contains only tests.
package docs
