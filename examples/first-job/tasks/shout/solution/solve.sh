#!/bin/bash
echo ROLLOUT > /app/shout.txt
