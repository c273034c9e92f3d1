// SPDX-License-Identifier: MIT
//
// uts.go - search an unbalanced tree with a goroutine for each node, as in
// bench/kernels/uts_tree.c and bench/workloads/tasks/uts_tasks.c
package main

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
)

// live is the bound on live tasks for each worker. Above it, a task spawns one successor,
// which takes over the list of children that are not yet spawned.
const live = 256

type tree struct {
	name                   string
	binomial               bool
	seed, branching        uint32
	depthLimit             uint32  // geometric
	nonleafChildren        uint32  // binomial
	nonleafProbability     float64 // binomial
	nodes, leaves, deepest uint64
}

var published = []tree{
	{name: "T1", seed: 19, branching: 4, depthLimit: 10,
		nodes: 4130071, leaves: 3305118, deepest: 10},
	{name: "T3", binomial: true, seed: 42, branching: 2000,
		nonleafChildren: 8, nonleafProbability: 0.124875,
		nodes: 4112897, leaves: 3599034, deepest: 1572},
	{name: "T1L", seed: 29, branching: 4, depthLimit: 13,
		nodes: 102181082, leaves: 81746377, deepest: 13},
}

func findTree(name string) *tree {
	for i := range published {
		if published[i].name == name {
			return &published[i]
		}
	}
	return nil
}

type node struct {
	state [sha1.Size]byte
	depth uint32
}

func (t *tree) root() node {
	var message [20]byte
	binary.BigEndian.PutUint32(message[16:], t.seed)
	return node{state: sha1.Sum(message[:])}
}

func (n *node) child(i uint32) node {
	var message [24]byte
	copy(message[:], n.state[:])
	binary.BigEndian.PutUint32(message[20:], i)
	return node{sha1.Sum(message[:]), n.depth + 1}
}

func (t *tree) children(n *node) uint32 {
	bits := binary.BigEndian.Uint32(n.state[16:]) & 0x7fffffff
	uniform := float64(bits) / (1 << 31)
	switch {
	case !t.binomial && n.depth >= t.depthLimit:
		return 0
	case !t.binomial:
		success := 1 / (1 + float64(t.branching))
		count := math.Floor(math.Log(1-uniform) / math.Log(1-success))
		return uint32(math.Min(count, 100))
	case n.depth == 0:
		return t.branching
	case uniform < t.nonleafProbability:
		return t.nonleafChildren
	}
	return 0
}

// rest is a list of nodes with children that are not yet spawned.
type rest struct {
	node                node
	nextChild, children uint32
	next                *rest
}

type search struct {
	tree                   *tree
	live, liveMax          int64
	nodes, leaves, deepest uint64
	done                   chan struct{}
}

func (s *search) spawn(n node, r *rest) {
	atomic.AddInt64(&s.live, 1)
	go s.visit(n, r)
}

func (s *search) visit(n node, r *rest) {
	children := s.tree.children(&n)
	atomic.AddUint64(&s.nodes, 1)
	if children == 0 {
		atomic.AddUint64(&s.leaves, 1)
	} else {
		r = &rest{n, 0, children, r}
	}
	for {
		deepest := atomic.LoadUint64(&s.deepest)
		if uint64(n.depth) <= deepest ||
			atomic.CompareAndSwapUint64(&s.deepest, deepest, uint64(n.depth)) {
			break
		}
	}
	s.spawnRest(r)
	// A task spawns its children before it counts down: zero means that all is done.
	if atomic.AddInt64(&s.live, -1) == 0 {
		s.done <- struct{}{}
	}
}

// spawnRest spawns children while there is room; without room, one child as the successor.
func (s *search) spawnRest(r *rest) {
	for r != nil {
		room := atomic.LoadInt64(&s.live) < s.liveMax
		child := r.node.child(r.nextChild)
		if r.nextChild++; r.nextChild == r.children {
			r = r.next
		}
		if !room {
			s.spawn(child, r)
			return
		}
		s.spawn(child, nil)
	}
}

func setupUTS(o *options) *workload {
	t := findTree(o.tree)
	var s *search
	return &workload{
		params: fmt.Sprintf(`{"tree":"%s","live":%d}`, o.tree, live),
		ops:    int(t.nodes),
		prepare: func() {
			s = &search{tree: t, liveMax: int64(live * o.workers),
				done: make(chan struct{})}
		},
		round: func() {
			s.spawn(t.root(), nil)
			<-s.done
		},
		check: func() error {
			if s.nodes == t.nodes && s.leaves == t.leaves && s.deepest == t.deepest {
				return nil
			}
			return fmt.Errorf("%d nodes, %d leaves, depth %d; "+
				"published: %d, %d, %d", s.nodes, s.leaves, s.deepest,
				t.nodes, t.leaves, t.deepest)
		},
	}
}
