#!/bin/bash
set -euo pipefail

cp /srv/inbox/letter.txt /home/worker/letter.txt
chmod 600 /home/worker/letter.txt
