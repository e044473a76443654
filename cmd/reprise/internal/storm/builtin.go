package storm

import (
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// service is ten workers that take 10 ms in the mean: 1,000 requests/s.
func service() sim.Server {
	return sim.Server{Workers: 10, Queue: 500, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential}}
}

// clients are a hundred that give a call 10 s and an attempt one.
func clients() []sim.Layer {
	return []sim.Layer{{Callers: 100, Deadline: 10 * time.Second, Timeout: time.Second, Latency: time.Millisecond}}
}

// Builtin returns the built-in setups, without policies.
func Builtin() []Setup {
	return []Setup{{
		Name:  "blip",
		About: "a service at half its capacity fails a third of its requests for two seconds",
		Scenario: sim.Scenario{
			Duration: time.Minute, Load: sim.Load{Rate: 500}, Layers: clients(), Server: service(),
			Faults: []sim.Fault{{Kind: sim.Failing, Amount: 1. / 3, Start: 20 * time.Second, Length: 2 * time.Second}},
		},
	}, {
		Name:  "outage",
		About: "a service at half its capacity refuses everything for a minute",
		Scenario: sim.Scenario{
			Duration: 3 * time.Minute, Load: sim.Load{Rate: 500}, Layers: clients(), Server: service(),
			Faults: []sim.Fault{{Kind: sim.Down, Start: time.Minute, Length: time.Minute}},
		},
	}, {
		Name:  "brownout",
		About: "a service becomes three times as slow for a minute, so that it can take two thirds of its load, and the slower the more it is asked",
		Scenario: sim.Scenario{
			Duration: 4 * time.Minute, Load: sim.Load{Rate: 500}, Layers: clients(),
			Server: sim.Server{
				Workers: 10, Queue: 500, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Lognormal, Sigma: 1}, Contention: 0.02,
			},
			Faults: []sim.Fault{{Kind: sim.Slow, Amount: 3, Start: time.Minute, Length: time.Minute}},
		},
	}, {
		Name:  "throttle",
		About: "a service lets 500 requests a second through and is asked 750",
		Scenario: sim.Scenario{
			Duration: 2 * time.Minute, Load: sim.Load{Rate: 750},
			Layers: []sim.Layer{{Callers: 10, Deadline: 10 * time.Second, Timeout: time.Second, Latency: 5 * time.Millisecond}},
			Server: sim.Server{Throttle: sim.Throttle{Rate: 500}, Service: sim.Service{Mean: 5 * time.Millisecond}},
		},
	}, {
		Name:  "metastable",
		About: "a service that takes 300 requests a second is offered 280, and is ten times as slow for ten seconds: the failure outlives its cause",
		Scenario: sim.Scenario{
			Duration: 6 * time.Minute, Load: sim.Load{Rate: 280},
			Layers: []sim.Layer{{Callers: 20, Timeout: time.Second, Latency: time.Millisecond}},
			Server: sim.Server{Workers: 3, Queue: 1500, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential}},
			Faults: []sim.Fault{{Kind: sim.Slow, Amount: 10, Start: time.Minute, Length: 10 * time.Second}},
		},
	}, {
		Name:  "retry-layers",
		About: "clients, gateways and back ends each retry, and the database behind them is down for half a minute, then cold",
		Scenario: sim.Scenario{
			Duration: 2 * time.Minute, Load: sim.Load{Rate: 300},
			Layers: []sim.Layer{
				{Callers: 50, Deadline: 10 * time.Second, Timeout: 5 * time.Second, Latency: time.Millisecond},
				{Callers: 10, Timeout: 3 * time.Second, Latency: time.Millisecond},
				{Callers: 5, Timeout: time.Second, Latency: time.Millisecond},
			},
			Server: sim.Server{
				Workers: 10, Queue: 300, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential},
				Cache: sim.Cache{Entries: 2000, MissFactor: 3},
			},
			Faults: []sim.Fault{{Kind: sim.Down, Start: 30 * time.Second, Length: 30 * time.Second}},
		},
	}, {
		Name:  "hot-partition",
		About: "a table of 16 partitions that take 100 requests a second each, and one key that is a third of 600 a second",
		Scenario: sim.Scenario{
			Duration: 2 * time.Minute, Load: sim.Load{Rate: 600, Hot: 1. / 3},
			Layers: []sim.Layer{{Callers: 20, Deadline: 10 * time.Second, Timeout: time.Second, Latency: 2 * time.Millisecond}},
			Server: sim.Server{Shards: 16, Throttle: sim.Throttle{Rate: 100}, Service: sim.Service{Mean: 5 * time.Millisecond, Shape: sim.Lognormal, Sigma: 0.5}},
		},
	}, {
		Name:  "long-poll",
		About: "200 pollers whose queue answers after five seconds, and for a minute refuses them all: who does not wait asks again at once",
		Scenario: sim.Scenario{
			Duration: 3 * time.Minute,
			Load:     sim.Load{Loops: 200, Warm: 5 * time.Second, LongPoll: true},
			Layers:   []sim.Layer{{Callers: 50, Timeout: 30 * time.Second, Latency: 5 * time.Millisecond}},
			Server:   sim.Server{Service: sim.Service{Mean: 5 * time.Second, Shape: sim.Exponential}},
			Faults:   []sim.Fault{{Kind: sim.Down, Start: time.Minute, Length: time.Minute}},
		},
	}, {
		Name:  "thundering-herd",
		About: "5,000 clients call at one instant a service that takes 1,000 requests a second, lets 500 wait and throttles the others",
		Scenario: sim.Scenario{
			Duration: time.Minute, Load: sim.Load{Rate: 100, Bursts: []sim.Burst{{At: 10 * time.Second, Calls: 5000}}},
			Layers: []sim.Layer{{Callers: 5000, Deadline: 30 * time.Second, Timeout: time.Second, Latency: time.Millisecond}},
			Server: sim.Server{Workers: 10, Queue: 500, Service: service().Service, FullThrottles: true},
		},
	}}
}

// Find returns the built-in setup of a name; false if there is none.
func Find(name string) (Setup, bool) {
	for _, s := range Builtin() {
		if s.Name == name {
			return s, true
		}
	}
	return Setup{}, false
}
