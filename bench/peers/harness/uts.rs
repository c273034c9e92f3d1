// SPDX-License-Identifier: MIT
//! uts.rs - the trees of uts, which are those of bench/kernels/uts_tree.c

use std::ffi::CString;
use std::os::raw::{c_char, c_int};

pub const NAMES: [&str; 3] = ["T1", "T3", "T1L"];

/// struct uts_tree of bench/kernels/uts_tree.h.
#[repr(C)]
pub struct Tree {
    name: *const c_char,
    shape: c_int,
    seed: u32,
    branching: u32,
    depth_limit: u32,
    nonleaf_children: u32,
    nonleaf_probability: f64,
    pub nodes: u64,
    pub leaves: u64,
    pub depth: u32,
}

// Safe to share, because it is never written.
unsafe impl Sync for Tree {}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Node {
    state: [u8; 20],
    pub depth: u32,
}

#[link(name = "skua_shared", kind = "static")]
#[link(name = "nettle")]
#[link(name = "m")]
extern "C" {
    fn uts_tree_find(name: *const c_char) -> *const Tree;
    fn uts_tree_root(tree: *const Tree) -> Node;
    fn uts_tree_children(tree: *const Tree, node: *const Node) -> u32;
    fn uts_tree_child(node: *const Node, i: u32) -> Node;
}

impl Tree {
    pub fn find(name: &str) -> &'static Tree {
        let name = CString::new(name).unwrap();
        unsafe { uts_tree_find(name.as_ptr()).as_ref() }.unwrap()
    }

    pub fn root(&self) -> Node {
        unsafe { uts_tree_root(self) }
    }

    pub fn children(&self, node: &Node) -> u32 {
        unsafe { uts_tree_children(self, node) }
    }
}

impl Node {
    pub fn child(&self, i: u32) -> Node {
        unsafe { uts_tree_child(self, i) }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Counts {
    pub nodes: u64,
    pub leaves: u64,
    pub depth: u32,
}

impl Counts {
    pub fn of(node: &Node, children: u32) -> Counts {
        Counts {
            nodes: 1,
            leaves: (children == 0) as u64,
            depth: node.depth,
        }
    }

    pub fn add(self, other: Counts) -> Counts {
        Counts {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }

    pub fn check(&self, tree: &Tree) -> bool {
        let published = Counts {
            nodes: tree.nodes,
            leaves: tree.leaves,
            depth: tree.depth,
        };
        if *self != published {
            eprintln!("uts: {self:?}; published: {published:?}");
        }
        *self == published
    }
}
