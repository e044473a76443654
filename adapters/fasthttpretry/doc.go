// Package fasthttpretry is the retry engine for fasthttp.
package fasthttpretry
