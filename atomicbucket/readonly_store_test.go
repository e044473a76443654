//go:build (linux || darwin) && !race

package atomicbucket_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/atomicbucket"
)

// A take and a credit to a bucket that is not full do store, which shows that
// the page of the test above is what it is said to be. Not under race, whose
// runtime does the store in C, where a fault ends the process.
func TestReadOnlyPageFaultsOnAStore(t *testing.T) {
	assert.NotNil(t, onReadOnlyPage(t, initFull, func(b *atomicbucket.Bucket) { b.TryTake(5) }), "take")
	assert.NotNil(t, onReadOnlyPage(t, initEmpty, func(b *atomicbucket.Bucket) { b.Give(5) }), "credit")
}
