#!/bin/bash

check() {
  cd /app && make clean && make || return 1
  [ "$(ar t libtally.a | sort | tr '\n' ' ')" = "counts.o strings.o " ] || return 1
  [ "$(echo "b a b" | ./tally)" = $'2 b\n1 a' ] || return 1
  [ -z "$(./tally < /dev/null)" ] || return 1
  [ "$(echo "The end, the END; x1y" | ./tally)" = $'2 end\n2 the\n1 x\n1 y' ] || return 1
  python3 - <<'END'
import collections, random, subprocess
draw = random.Random(7)
words = ["".join(draw.choice("abcdefg") for _ in range(draw.randint(1, 90))) for _ in range(700)] * 3
draw.shuffle(words)
words += [w.upper() for w in words[:300]]
printed = subprocess.run(["/app/tally"], input="\n".join(words), capture_output=True, text=True, check=True).stdout
counts = collections.Counter(w.lower() for w in words)
wanted = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
assert printed == "".join(f"{count} {word}\n" for word, count in wanted)
END
}

if check; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
