#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv_long.sh - the clients of skua-kv with one worker and with two, as fibers and as
# tasks, and 10,000 connections with slow readers among them
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

export SKUA_KV_LONG=1 SKUA_KV_CONNECTIONS=5000
for form in "" --tasks; do
	options=(${form:+"$form"})
	client clients
	client values
	client limits
	client pubsub
	SKUA_KV_LONG='' client crowd
done
finish_kv
