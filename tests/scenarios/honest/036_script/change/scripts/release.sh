#!/bin/sh
set -e
: "${1:?which version?}"
echo "releasing $1"
