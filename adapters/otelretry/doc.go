// Package otelretry shows engines to OpenTelemetry: on the caller's span what the
// engine decided, and as metrics what it has counted.
//
//	recorder := otelretry.NewRecorder()
//	e, err := engine.New(engine.WithObserver(otelretry.Spans(otelretry.WithHTTP()).Then(recorder.Observer())))
//	unregister, err := otelretry.Register(meterProvider, "orders", e, otelretry.WithRecorder(recorder))
//
// # Spans
//
// [Spans] is an [engine.Observer] whose Decided hook is given the caller's context,
// and finds there the span that was current when the call began: that of
// engine.Do's caller, or of the request given to a door. It starts no span of its
// own, because an engine sees neither the beginning nor the end of an attempt. An
// attempt's own span is for what sends it, such as otelhttp beneath a door; a
// wrapper around op in [engine.Do].
//
// A failed attempt that is retried adds the event "reprise.retry", a call that ends
// without success "reprise.stop". A success adds nothing: the span has no event, or
// only those of what failed before. Attributes:
//
//	reprise.attempts       int      attempts made so far; hedges count
//	reprise.class          string   of the last failure: transient, throttling, non_retryable
//	reprise.reason         string   as engine.Reason spells it; retry in reprise.retry
//	reprise.delay          double   seconds until the next attempt, where there is such a wait, or was one that was too long
//	reprise.quota.tokens   int      left in the retry quota
//
// With [WithHTTP] the span also gets http.request.resend_count of the semantic
// conventions (v1.43.0), updated with each retry that is granted, and set back if a
// granted retry was not sent after all: to 0 if nothing was sent again. It is right
// where the span is that of the whole request, with the attempts inside. Where each attempt has a span of its own,
// the convention wants the number there: see [ResendCount].
//
// Only where a context is given can a hook have it. engine.Do and the doors give
// theirs (of fasthttpretry's methods DoContext, the others have none); those who drive an [engine.Call] by themselves must use FailIn, FailWait, Wait and
// AdmitWait, and not Fail, FailAt or Abandon. Hedges show in the number of attempts
// alone.
//
// A first attempt's success costs nothing, a failure whose span does not record a
// look into the context; neither allocates.
//
// # Metrics
//
// [Register] observes an engine's counts when a reader collects and at no other
// time. All have the attribute reprise.engine, the name that was given.
//
//	reprise.quota.tokens       gauge      {token}     tokens in the retry quota (R6); this and the next not in legacy mode
//	reprise.quota.capacity     gauge      {token}     tokens it holds at the most
//	reprise.retries            counter    {retry}     granted, by reprise.class
//	reprise.unsent_retries     counter    {retry}     retries and hedges granted and never sent (R6.3)
//	reprise.hedges             counter    {attempt}   attempts sent beside another
//	reprise.recoveries         counter    {call}      calls that succeeded on a retry
//	reprise.stops              counter    {call}      calls that ended without success, by reprise.reason
//	reprise.limiter.enabled    gauge      1           1 once something was throttled; this and the next in adaptive mode alone (R8)
//	reprise.limiter.fill       gauge      {attempt}/s what the limiter lets through
//	reprise.limiter.measured   gauge      {attempt}/s what it has measured
//	reprise.limiter.waiting    gauge      {call}      calls that wait for it
//
// With a [Recorder], which is an observer too, since an engine does not count what
// succeeds at once:
//
//	reprise.calls              counter    {call}      calls that have ended, but for those that a panic ended
//	reprise.attempts           counter    {attempt}   attempts that these calls made, hedges included
//	reprise.retry.delay        histogram  s           delays of granted retries, by reprise.class; some end early
//
// A success at the first attempt then costs an add to a counter of its processor,
// and the call of the hook: no shared cache line is written, no lock taken, nothing
// allocated. The histogram is the one metric that is recorded in a call, when a
// retry is granted, at the cost that the SDK has for that.
//
// The engines of an engine.Group are not shown by key; promretry does that. Give its
// template's observer for spans, and for the recorder's three metrics.
package otelretry
