package loom

import "reflect"

// Access is one operation on a word.
type Access struct {
	Word  any  // its address
	Write bool // it may change the word
}

// Address is where the word lies.
func (a Access) Address() uintptr { return reflect.ValueOf(a.Word).Pointer() }

// Record runs body alone, as the thread of this number, below MaxThreads, and
// returns what it does to words, in order. What is made once for each thread is
// made by the first of them.
func Record(index int, body func()) ([]Access, error) {
	var all []Access
	t := start(index, body)
	for !t.done {
		all = append(all, Access{t.pending.word, t.pending.write})
		t.resume()
	}
	return all, t.err
}
