// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// A receiver takes the next item from any of the channels; false if they are closed.
type receiver func(channels []chan int64) (int64, bool)

func receiveOf2(channels []chan int64) (item int64, some bool) {
	select {
	case item, some = <-channels[0]:
	case item, some = <-channels[1]:
	}
	return item, some
}

func receiveOf4(channels []chan int64) (item int64, some bool) {
	select {
	case item, some = <-channels[0]:
	case item, some = <-channels[1]:
	case item, some = <-channels[2]:
	case item, some = <-channels[3]:
	}
	return item, some
}

// Half of the goroutines send to the channels in rotation. Each of the others receives with select.
func selectTasks(o options, d time.Duration) result {
	receive := receiveOf2
	if o.channels == 4 {
		receive = receiveOf4
	}
	count := o.loops * o.tasks
	tallies := make([]tally, count)
	channels := make([]chan int64, o.channels)
	for i := range channels {
		channels[i] = make(chan int64)
	}
	var start gate
	var over atomic.Bool
	var sending, receiving sync.WaitGroup
	sending.Add(count / 2)
	receiving.Add(count / 2)
	for i := 0; i < count; i += 2 {
		go func(i int) {
			defer sending.Done()
			var mine tally
			item, turn := int64(i+1), i/2%len(channels)
			start.pass()
			for !over.Load() {
				channels[turn] <- item
				if turn++; turn == len(channels) {
					turn = 0
				}
				mine.meetings++
				mine.given += item
				item += int64(count) // so that all items differ
			}
			tallies[i] = mine
		}(i)
		go func(i int) {
			defer receiving.Done()
			var mine tally
			start.pass()
			for item, some := receive(channels); some; item, some = receive(channels) {
				mine.meetings++
				mine.got += item
			}
			tallies[i] = mine
		}(i + 1)
	}
	elapsed := start.run(&over, d)
	sending.Wait()
	for _, each := range channels {
		close(each)
	}
	receiving.Wait()
	return sum(tallies, func(i int) bool { return i%2 == 1 }, elapsed)
}
