// SPDX-License-Identifier: MIT

// Go's rivals: unbuffered channels, and the usual ways to swap with them.
// ../README.md specifies the program and its workloads.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A result is printed as one line of JSON.
type result struct {
	count     int64
	elapsed   time.Duration
	ns        float64 // 0: elapsed / count
	conserved bool
	more      string // further members
}

func (r *result) add(name string, value float64) {
	r.more += fmt.Sprintf(", %q: %.6g", name, value)
}

func (r result) String() string {
	ns := r.ns
	if ns == 0 {
		ns = float64(r.elapsed.Nanoseconds()) / math.Max(float64(r.count), 1)
	}
	return fmt.Sprintf(`{"count": %d, "seconds": %.6f, "ns": %.3f, "conserved": %t%s}`,
		r.count, r.elapsed.Seconds(), ns, r.conserved, r.more)
}

type options struct {
	loops, tasks, channels int
	pause                  time.Duration
	seconds                time.Duration
	warmup                 time.Duration
}

type rival struct {
	implementation, workload string
	run                      func(options, time.Duration) result
}

var rivals = []rival{
	{"select and reply channel", "swap-tasks", func(o options, d time.Duration) result {
		return swapTasks(&selectSwap{make(chan offer)}, o, d)
	}},
	{"mutex and reply channel", "swap-tasks", func(o options, d time.Duration) result {
		return swapTasks(&mutexSwap{}, o, d)
	}},
	{"select and reply channel", "swap-pool", func(o options, d time.Duration) result {
		return swapTasks(&selectSwap{make(chan offer)}, o, d)
	}},
	{"mutex and reply channel", "swap-pool", func(o options, d time.Duration) result {
		return swapTasks(&mutexSwap{}, o, d)
	}},
	{"unbuffered channel", "handoff-tasks", handOffTasks},
	{"unbuffered channel", "cancel-tasks", cancelTasks},
	{"unbuffered channel", "latency-tasks", func(o options, d time.Duration) result {
		return latencyTasks(o, d, pause)
	}},
	{"unbuffered channel", "latency-pool", func(o options, d time.Duration) result {
		return latencyTasks(o, d, time.Sleep)
	}},
	{"unbuffered channel", "memory-tasks", memoryTasks},
	{"select", "select-tasks", selectTasks},
}

func refuse(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "rival: "+format+"\n", arguments...)
	os.Exit(2)
}

func find(implementation, workload string) rival {
	known := false
	for _, each := range rivals {
		known = known || each.implementation == implementation
		if each.implementation == implementation && each.workload == workload {
			return each
		}
	}
	if known {
		refuse("no workload '%s' of %s; see: rival list", workload, implementation)
	}
	refuse("no implementation '%s'; see: rival list", implementation)
	panic("unreachable")
}

func parse(words []string) (o options) {
	values := map[string]float64{"--loops": 1, "--tasks": 2, "--threads": 2, "--channels": 2,
		"--patience-us": 100, "--pause-us": 20, "--seconds": 0.5, "--warmup": 0.1}
	for i := 0; i < len(words); i += 2 {
		name := words[i]
		if _, known := values[name]; !known {
			refuse("unknown option '%s'", name)
		}
		word := strings.Join(words[i+1:], " ")
		if i+2 < len(words) {
			word = words[i+1]
		}
		value, err := strconv.ParseFloat(word, 64)
		whole := name != "--seconds" && name != "--warmup"
		if err != nil || !(value > 0 || value == 0 && name == "--warmup") || value > 1e9 ||
			whole && value != math.Trunc(value) {
			refuse("bad number '%s' after %s", word, name)
		}
		values[name] = value
	}
	if values["--loops"] > 2 {
		refuse("--loops must be 1 or 2")
	}
	if values["--channels"] != 2 && values["--channels"] != 4 {
		refuse("--channels must be 2 or 4")
	}
	o.loops, o.tasks, o.channels = int(values["--loops"]), int(values["--tasks"]), int(values["--channels"])
	o.pause = time.Duration(values["--pause-us"]) * time.Microsecond
	o.seconds = time.Duration(values["--seconds"] * 1e9)
	o.warmup = time.Duration(values["--warmup"] * 1e9)
	return o
}

func main() {
	words := os.Args[1:]
	if len(words) == 1 && words[0] == "list" {
		for _, each := range rivals {
			fmt.Println(each.implementation, each.workload)
		}
		return
	}
	if len(words) < 2 {
		refuse("usage: rival IMPLEMENTATION WORKLOAD [--OPTION NUMBER]... | rival list")
	}
	chosen, o := find(words[0], words[1]), parse(words[2:])
	processors := o.loops
	switch chosen.workload {
	case "latency-tasks", "latency-pool":
		processors = 2
	case "swap-pool": // --tasks is the number of all goroutines
		o.loops, processors = 1, 2
	case "cancel-tasks", "memory-tasks":
		processors = 1
	}
	if strings.HasPrefix(chosen.workload, "swap-") && o.loops*o.tasks < 2 {
		refuse("a swap needs a partner: --loops x --tasks must be at least 2")
	}
	if (chosen.workload == "handoff-tasks" || chosen.workload == "select-tasks") && o.loops*o.tasks%2 != 0 {
		refuse("half send, half receive: --loops x --tasks must be even")
	}
	runtime.GOMAXPROCS(processors)
	if chosen.workload == "memory-tasks" {
		o.warmup = 0 // memory that is already allocated does not grow
	}
	conserved := o.warmup == 0 || chosen.run(o, o.warmup).conserved
	measured := chosen.run(o, o.seconds)
	if measured.count == 0 {
		fmt.Fprintln(os.Stderr, "rival: no swap or hand-off was completed; try a longer --seconds")
		os.Exit(1)
	}
	fmt.Println(measured)
	if !conserved || !measured.conserved {
		os.Exit(1)
	}
}
