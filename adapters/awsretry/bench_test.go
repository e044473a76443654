package awsretry_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/adapters/awsretry"
)

// What a call costs in all, of which the retryer is little.
func BenchmarkCall(b *testing.B) {
	e := newEngine(b)
	r, err := awsretry.NewRetryer(e)
	if err != nil {
		b.Fatal(err)
	}
	for _, door := range []struct {
		name string
		cfg  aws.Config
	}{
		{"sdk", aws.Config{Region: "eu-west-1", HTTPClient: silent{}}},
		{"Apply", applied(b, silent{}, e)},
		{"NewRetryer", aws0(silent{}, r)},
	} {
		b.Run("door="+door.name, func(b *testing.B) {
			c := newClient(door.cfg, "S3")
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := c.call(b.Context(), "GetObject", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
