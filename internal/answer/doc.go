// Package answer reads what a failed HTTP answer says of its failure, whichever
// library brought it: the error code in its body and the delay that it asks for.
// It is one package so that all doors read the same. It takes bytes and strings,
// keeps nothing of them, and waits for nothing.
package answer
