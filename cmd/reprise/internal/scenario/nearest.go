package scenario

import (
	"fmt"
	"strings"
)

// DidYouMean asks whether a known name was meant by one that is unknown, as the words
// "did you mean NAME? "; "" if none is near.
func DidYouMean(name string, known []string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	name = plain.Replace(strings.ToLower(name))
	nearest, least := "", 3
	for _, one := range known {
		to := plain.Replace(strings.ToLower(one))
		distance := Distance(name, to)
		if len(name) >= 3 && strings.HasPrefix(to, name) {
			distance = min(distance, 2)
		}
		// Of a short name a letter or two are most of it.
		if distance < least && 2*distance < len(to) {
			nearest, least = one, distance
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? ", nearest)
}
