//go:build race

package dynamoretry_test

// notRace switches off what the race detector changes: allocations.
const notRace = 0
