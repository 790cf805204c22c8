// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A tally is the account of one goroutine, which writes it when it ends.
type tally struct {
	meetings, given, got int64
	metItself            bool
}

// Sums up the accounts. Fairness compares the service of `receivers`.
func sum(tallies []tally, receivers func(i int) bool, elapsed time.Duration) result {
	var all tally
	least, most := int64(-1), int64(1)
	for i, each := range tallies {
		all.meetings += each.meetings
		all.given += each.given
		all.got += each.got
		all.metItself = all.metItself || each.metItself
		if receivers(i) {
			if least < 0 || each.meetings < least {
				least = each.meetings
			}
			if each.meetings > most {
				most = each.meetings
			}
		}
	}
	r := result{count: all.meetings / 2, elapsed: elapsed,
		conserved: all.given == all.got && all.meetings%2 == 0 && !all.metItself}
	r.add("fairness", float64(least)/float64(most))
	return r
}

// A swapper exchanges items between two parties.
type swapper interface {
	// `reply` belongs to the caller and has room for one item.
	swap(mine int64, reply chan int64) int64
	// Takes the offer of a waiting party, if there is one before `done` is closed.
	withdraw(done chan struct{}) (offer, bool)
}

// Go's channels go one way. If all goroutines shared two of them, one for each direction, the answers of two couples
// could cross. So each goroutine has a channel of its own for the answer.
type offer struct {
	item  int64
	reply chan int64
}

// selectSwap: the first party sends, the second receives and answers. Trying to receive before the select of both takes
// about a quarter less time than the select alone.
type selectSwap struct{ offers chan offer }

func (x *selectSwap) swap(mine int64, reply chan int64) int64 {
	select {
	case o := <-x.offers:
		o.reply <- mine
		return o.item
	default:
	}
	select {
	case x.offers <- offer{mine, reply}:
		return <-reply
	case o := <-x.offers:
		o.reply <- mine
		return o.item
	}
}

func (x *selectSwap) withdraw(done chan struct{}) (offer, bool) {
	select {
	case o := <-x.offers:
		return o, true
	case <-done:
		return offer{}, false
	}
}

// mutexSwap: the same with a variable under a mutex in place of the shared channel. It is faster still.
type mutexSwap struct {
	mutex   sync.Mutex
	waiting offer
}

func (x *mutexSwap) swap(mine int64, reply chan int64) int64 {
	x.mutex.Lock()
	o := x.waiting
	if o.reply == nil {
		x.waiting = offer{mine, reply}
		x.mutex.Unlock()
		return <-reply
	}
	x.waiting = offer{}
	x.mutex.Unlock()
	o.reply <- mine
	return o.item
}

func (x *mutexSwap) withdraw(done chan struct{}) (offer, bool) {
	for {
		select {
		case <-done:
			return offer{}, false
		case <-time.After(time.Millisecond):
		}
		x.mutex.Lock()
		o := x.waiting
		x.waiting = offer{}
		x.mutex.Unlock()
		if o.reply != nil {
			return o, true
		}
	}
}

func swapTasks(x swapper, o options, d time.Duration) result {
	count := o.loops * o.tasks
	tallies := make([]tally, count+1)
	done := make(chan struct{})
	var start gate
	var over atomic.Bool
	var running sync.WaitGroup
	running.Add(count)
	for i := 0; i < count; i++ {
		go func(i int) {
			defer running.Done()
			var mine tally
			reply := make(chan int64, 1)
			item := int64(i + 1)
			start.pass()
			for !over.Load() {
				theirs := x.swap(item, reply)
				mine.meetings++
				mine.given += item
				mine.got += theirs
				mine.metItself = mine.metItself || theirs == item
				item += int64(count + 1) // so that all items differ
			}
			tallies[i] = mine
		}(i)
	}
	elapsed := start.run(&over, d)
	go func() {
		running.Wait()
		close(done)
	}()
	last := &tallies[count] // serves goroutines that are left without a partner
	for {
		o, some := x.withdraw(done)
		if !some {
			break
		}
		last.meetings++
		last.got += o.item
		o.reply <- 0
	}
	return sum(tallies, func(i int) bool { return i < count }, elapsed)
}

func handOffTasks(o options, d time.Duration) result {
	count := o.loops * o.tasks
	tallies := make([]tally, count)
	ch := make(chan int64)
	var start gate
	var over atomic.Bool
	var sending, receiving sync.WaitGroup
	sending.Add(count / 2)
	receiving.Add(count / 2)
	for i := 0; i < count; i += 2 {
		go func(i int) {
			defer sending.Done()
			var mine tally
			item := int64(i + 1)
			start.pass()
			for !over.Load() {
				ch <- item
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
			for item := range ch {
				mine.meetings++
				mine.got += item
			}
			tallies[i] = mine
		}(i + 1)
	}
	elapsed := start.run(&over, d)
	sending.Wait()
	close(ch)
	receiving.Wait()
	return sum(tallies, func(i int) bool { return i%2 == 1 }, elapsed)
}

// A gate lets all goroutines start at once. If the main goroutine woke them one by one, it would need more than a time
// slice, and could then lose the processor to a pair that passes it to and fro.
type gate struct{ open atomic.Bool }

func (g *gate) pass() {
	for !g.open.Load() {
		runtime.Gosched()
	}
}

// Lets all goroutines start, and tells them when the time is over.
func (g *gate) run(over *atomic.Bool, d time.Duration) time.Duration {
	g.open.Store(true)
	begin := time.Now()
	time.Sleep(d)
	elapsed := time.Since(begin)
	over.Store(true)
	return elapsed
}
