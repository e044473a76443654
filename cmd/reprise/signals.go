package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signalWatch turns SIGINT, SIGTERM and SIGHUP into the end of a context.
type signalWatch struct {
	signals chan os.Signal
	pipes   chan os.Signal // which nobody reads
	done    chan struct{}
	code    atomic.Int32
}

// watchSignals returns a context that the first of these signals cancels. The
// second one calls cleanUp and ends the process. A SIGHUP that nohup switched off
// stays so; one that says that the terminal has gone must not leave half a report.
// While they are watched a reader of the progress that has gone ends nothing: SIGPIPE
// would end the process, and leave what is to become the report behind.
func watchSignals(cleanUp func()) (context.Context, *signalWatch) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &signalWatch{signals: make(chan os.Signal, 2), pipes: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Notify(w.signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(w.pipes, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(w.signals, syscall.SIGHUP)
	}
	go func() {
		defer cancel()
		for seen := 0; ; seen++ {
			select {
			case s := <-w.signals:
				w.code.Store(signalCode(s))
				cancel()
				if seen > 0 {
					cleanUp()
					os.Exit(int(w.code.Load()))
				}
			case <-w.done:
				return
			}
		}
	}()
	return ctx, w
}

// stop gives the signals back to the system's default.
func (w *signalWatch) stop() {
	signal.Stop(w.signals)
	signal.Stop(w.pipes)
	close(w.done)
}

// exitCode is what a shell says of a process that the last signal ended.
func (w *signalWatch) exitCode() int { return int(w.code.Load()) }

func signalCode(s os.Signal) int32 {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int32(n)
	}
	return 1
}

// untilEnded is what do returns, or the context's error as soon as that ends: do may
// look only now and then whether it has, and what it still comes to is nobody's.
func untilEnded[T any](ctx context.Context, do func() (T, error)) (result T, err error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := do()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}
