// Package awsretry puts a retry engine behind the clients of aws-sdk-go-v2.
package awsretry
