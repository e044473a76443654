// Package faulty stands between an AWS SDK client and an emulated service and
// makes trouble on demand: it answers for the service, breaks connections, lies
// about the time and enforces a capacity, and it writes down what it was sent. It
// serves on 127.0.0.1 through net/http/httptest, or over a [Wire], which exists in
// memory alone and so runs on the virtual time of testing/synctest.
package faulty
