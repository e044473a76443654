// Package atomic is the words that goroutines share: the types of
// go.uber.org/atomic, by other names and at no cost. Built with the tag
// reprise_loom they are the same words with a step of internal/loom before each
// operation, so that tests can run the code that uses them in every order.
//
// Map and Pool are those of package sync. Under the tag each operation of a Map
// is one step, whatever is inside, a walk one for each key, in the keys' order;
// and a Pool gives each thread back what it had put.
package atomic
