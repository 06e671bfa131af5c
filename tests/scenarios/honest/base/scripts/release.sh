#!/bin/sh
set -e
echo "releasing $1"
