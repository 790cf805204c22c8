// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Starts goroutines that end when `wait` does, and returns when all are about to wait. On one processor, a goroutine
// runs until it waits before any other runs.
func startWaiters(count int, wait func()) *sync.WaitGroup {
	var ended sync.WaitGroup
	var waiting atomic.Int64
	ended.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			defer ended.Done()
			waiting.Add(1)
			wait()
		}()
	}
	for waiting.Load() < int64(count) {
		runtime.Gosched()
	}
	return &ended
}

func cancelTasks(o options, d time.Duration) result {
	ch := make(chan int64)
	var cancelled, received atomic.Int64
	var elapsed time.Duration
	for begin := time.Now(); time.Since(begin) < d; {
		ctx, cancel := context.WithCancel(context.Background())
		ended := startWaiters(o.tasks, func() {
			select {
			case <-ch:
				received.Add(1)
			case <-ctx.Done():
				cancelled.Add(1)
			}
		})
		request := time.Now()
		cancel()
		ended.Wait()
		elapsed += time.Since(request)
	}
	count := cancelled.Load()
	return result{count: count, elapsed: elapsed,
		conserved: received.Load() == 0 && count%int64(o.tasks) == 0}
}

// The goroutines are not bound to processors, as is usual in Go. Binding them to threads costs a switch of threads per
// meeting.
func latencyTasks(o options, d time.Duration, pause func(time.Duration)) result {
	ch, total := make(chan int64), make(chan int64)
	var samples []int64
	epoch := time.Now()
	go func() {
		got := int64(0)
		for sent := range ch {
			samples = append(samples, time.Since(epoch).Nanoseconds()-sent)
			got += sent
		}
		total <- got
	}()
	given := int64(0)
	begin := time.Now()
	for time.Since(begin) < d {
		pause(o.pause)
		now := time.Since(epoch).Nanoseconds()
		given += now
		ch <- now
	}
	elapsed := time.Since(begin)
	close(ch)
	r := result{conserved: given == <-total, elapsed: elapsed, count: int64(len(samples))}
	sum := int64(0)
	for _, each := range samples {
		sum += each
	}
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	r.ns = float64(sum) / float64(len(samples))
	r.add("p50", float64(samples[len(samples)/2]))
	r.add("p99", float64(samples[len(samples)*99/100]))
	return r
}

// Does not yield, because then both goroutines would run in turn on one processor, in a quarter of a microsecond. That
// is not what this workload measures.
func pause(d time.Duration) {
	if d >= 50*time.Microsecond {
		time.Sleep(d)
		return
	}
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

func memoryTasks(o options, _ time.Duration) result {
	debug.FreeOSMemory()
	before := resident()
	ch := make(chan int64)
	var received atomic.Int64
	ended := startWaiters(o.tasks, func() {
		if _, some := <-ch; some {
			received.Add(1)
		}
	})
	after := resident()
	close(ch)
	ended.Wait()
	r := result{count: int64(o.tasks), conserved: received.Load() == 0}
	r.add("bytes", float64(after-before)/float64(o.tasks))
	return r
}

// Returns the resident memory in bytes.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		panic(err)
	}
	var kilobytes int64
	line := text[bytes.Index(text, []byte("Rss:")):]
	if _, err := fmt.Sscanf(string(line), "Rss: %d kB", &kilobytes); err != nil {
		panic(err)
	}
	return kilobytes * 1024
}
