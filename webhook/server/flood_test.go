package server

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestFloodOfOneAddress: an address that opens 2,000 connections a second, and sends nothing,
// holds at most its share. Others are accepted at once, and keep what they have.
func TestFloodOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(maxConnections, maxWaiting)
		accepted := make(chan net.Conn, 1)
		go func() {
			defer close(accepted)
			for {
				conn, err := p.Accept()
				if err != nil {
					return
				}
				if conn.(*connection).address == "b" {
					accepted <- conn
				}
			}
		}()
		open := func(address string) *from {
			conn := &from{address: address + ":1"}
			p.source.conns <- conn
			synctest.Wait()
			return conn
		}
		held := open("b")
		<-accepted
		time.Sleep(time.Minute) // of the bubble's clock
		var flood []*from
		for i := range 4000 {
			time.Sleep(time.Second / 2000) // of the bubble's clock
			flood = append(flood, open("a"))
			if i%100 != 99 {
				continue
			}
			newcomer := open("b")
			select {
			case conn := <-accepted:
				_ = conn.Close()
			default:
				t.Errorf("after %d connections, one of another address waits", i+1)
			}
			if !newcomer.closed {
				t.Error("it is not the one that was accepted")
			}
		}
		holds := 0
		for _, conn := range flood {
			if !conn.closed {
				holds++
			}
		}
		if held.closed || holds != maxWaiting {
			t.Errorf("the flood holds %d connections, want %d; the other one is closed: %t", holds, maxWaiting, held.closed)
		}
		close(p.source.conns)
		<-accepted
	})
}

// TestFullForAFlood: where there is no place, the address of which most wait makes room for
// itself only, and nobody waits for it.
func TestFullForAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(3, 3)
		_, b := p.accept(t, "b")
		_, first := p.accept(t, "a")
		answered, second := p.accept(t, "a")
		_, third := p.accept(t, "a")
		wantClosed(t, "its own oldest, not the oldest", first, b, second, third)
		p.request(answered, http.NoBody, false)()
		now := time.Now()
		accept := func(conns ...*from) {
			for _, conn := range conns {
				p.source.conns <- conn
			}
			if _, err := p.Accept(); err != nil || time.Since(now) > 0 {
				t.Errorf("%v after %s", err, time.Since(now))
			}
		}
		fourth, fifth, other := &from{address: "a:1"}, &from{address: "a:2"}, &from{address: "b:1"}
		accept(fourth)
		wantClosed(t, "its own that has had its answer", second, b, third, fourth)
		accept(fifth, other)
		wantClosed(t, "the newcomer", fifth, third, fourth, other)
		wantClosed(t, "the only one that has waited, of the newcomer's address", b)
	})
}
