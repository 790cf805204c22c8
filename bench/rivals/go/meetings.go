// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A tally is a goroutine's own account, written when it ends.
type tally struct {
	meetings, given, got int64
	metItself            bool
}

// Sums up the accounts; `receivers` are those whose service is compared.
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

// A swapper exchanges items bilaterally.
type swapper interface {
	// `reply` belongs to the caller and has room for one item.
	swap(mine int64, reply chan int64) int64
	// Takes away the offer of one who waits, if there is one before `done` is closed.
	withdraw(done chan struct{}) (offer, bool)
}

// Go's channels go one way. Two of them shared by all, one for each way, would let the answers of two
// couples cross; so everyone has a channel of its own for the answer.
type offer struct {
	item  int64
	reply chan int64
}

// selectSwap: whoever comes first sends, whoever comes second receives and answers. To try to receive
// before the select of both takes about a quarter off the time of the select alone.
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

// mutexSwap: the same with a variable under a mutex in place of the shared channel, which is faster still.
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
				item += int64(count + 1) // no two alike
			}
			tallies[i] = mine
		}(i)
	}
	elapsed := start.run(&over, d)
	go func() {
		running.Wait()
		close(done)
	}()
	last := &tallies[count] // meets those who wait for nobody
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
				item += int64(count) // no two alike
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

// A gate lets everybody start at once. To wake many would take the main goroutine longer than a time
// slice, and when it lost the processor to a pair that hands it to and fro, it would hardly get it back.
type gate struct{ open atomic.Bool }

func (g *gate) pass() {
	for !g.open.Load() {
		runtime.Gosched()
	}
}

// Lets all start, and tells them when it is over.
func (g *gate) run(over *atomic.Bool, d time.Duration) time.Duration {
	g.open.Store(true)
	begin := time.Now()
	time.Sleep(d)
	elapsed := time.Since(begin)
	over.Store(true)
	return elapsed
}
