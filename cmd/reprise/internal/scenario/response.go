package scenario

import "fmt"

// Success reports whether a response with this status ends its call well.
func Success(status int) bool { return status >= 200 && status <= 299 }

// CheckResponse returns an error if no response is known by this status, 0 for
// none, and this code, "" for none.
func CheckResponse(status int, code string) error {
	switch {
	case status == 0 && code == "":
		return fmt.Errorf("no status, code or error: want what the attempt met")
	case status != 0 && (status < 100 || status > 999):
		return fmt.Errorf("status is %d: want 100 to 999; for a response known by its code alone leave it out", status)
	case Success(status) && code != "":
		return fmt.Errorf("status %d with code %q: a success has no error code; for a response known by its code alone leave the status out", status, Shorten(code))
	}
	return nil
}
