package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// proxySignals are those that `reprise proxy` obeys.
type proxySignals struct {
	in     chan os.Signal
	reload chan struct{}  // holds one: two SIGHUPs before a reload are one reload
	end    chan os.Signal // the first that ends it
	done   chan struct{}
	once   sync.Once
}

// watchProxySignals obeys SIGINT, SIGTERM and SIGHUP from now on. The second
// ending one ends the process. SIGHUP reloads, if there is something to reload,
// even where nohup has switched it off; else it is as in watchSignals.
func watchProxySignals(reloads bool) *proxySignals {
	w := &proxySignals{
		in:     make(chan os.Signal, 4),
		reload: make(chan struct{}, 1),
		end:    make(chan os.Signal, 1),
		done:   make(chan struct{}),
	}
	signal.Notify(w.in, os.Interrupt, syscall.SIGTERM)
	if reloads || !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(w.in, syscall.SIGHUP)
	}
	go func() {
		ending := false
		for {
			select {
			case s := <-w.in:
				switch {
				case s == syscall.SIGHUP && reloads:
					select {
					case w.reload <- struct{}{}:
					default:
					}
				case ending:
					os.Exit(int(signalCode(s)))
				default:
					ending = true
					w.end <- s
				}
			case <-w.done:
				return
			}
		}
	}()
	return w
}

// stop gives the signals back to the system's default.
func (w *proxySignals) stop() {
	signal.Stop(w.in)
	w.once.Do(func() { close(w.done) })
}
