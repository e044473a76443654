// Package proof holds the tests of awsretry and dynamoretry that need more than a
// user of them should have to download: the SDK's own retryers beside ours, on the
// same faults, against emulated services. It exports nothing.
package proof
