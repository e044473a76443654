package scenario

import (
	"fmt"
	"strings"
)

// presets are the AWS service ids that have settings of their own, as the engine
// compares them: in lower case, without blanks and dashes.
var presets = [...]string{"dynamodb", "dynamodbstreams"}

// CheckService returns an error if id cannot be the id of an AWS service, or if
// it is so near to one with settings of its own that it must be a typing mistake:
// the engine takes any id, and would use the general settings without a word.
func CheckService(id string) error {
	plain := strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(id))
	if plain == "" || strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("service %q: want an AWS service id such as dynamodb, of letters, digits, blanks and dashes", Shorten(id))
	}
	for _, preset := range presets {
		if plain == preset {
			return nil
		}
	}
	for _, preset := range presets {
		if strings.Contains(plain, "dynamo") || Distance(plain, preset) <= 2 {
			return fmt.Errorf("unknown service %q: want dynamodb or dynamodbstreams, which have settings of their own, or the id of another AWS service", Shorten(id))
		}
	}
	return nil
}

// Distance counts the letters to change, insert or drop between a and b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
