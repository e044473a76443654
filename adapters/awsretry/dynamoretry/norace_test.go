//go:build !race

package dynamoretry_test

const notRace = 1
