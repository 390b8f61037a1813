import { commandMark } from "../../guest/end-processes.ts";
import { keeperSeconds } from "../../guest/keeper.ts";

// A command runs beside the connection that started it: what it prints lies in numbered pieces in a folder of the Pod
// until we say that we have them, and a piece that is not taken holds it back. Whoever connects again goes on where the
// last one was cut off. Only what bash itself can do and the smallest tools: dd, cat, rm, mkdir, mkfifo.
//
// Arguments: the folder, the next piece of each stream, the last that was taken away, how many may lie there, whether
// it may be started.
// Input: the words of the command as counted lists that end with NUL each, then what is placed before it starts (paths
// after E, R and P as for a copy, archives as A and their length), then lines: `o 3` (pieces up to 3 are
// here), `e 3`, and `q` (all is well, forget it).
// Output: `f` (what was to be placed could not be, nothing was started), `h` (it has been started), `o 3 512` and `e 3 512` with so many bytes after it, `x 0 0 1` (its exit
// code, what the memory limit killed meanwhile, whether nothing else runs in the Pod), `g` (it is gone without an exit code).
const script = `d=$1 out=$2 err=$3 hadOut=$4 hadErr=$5 most=$6 may=$7
own=$PATH; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
words() { local -n into=$1; local count word; into=(); IFS= read -r -d '' count || exit 3
  while ((count-- > 0)); do IFS= read -r -d '' word || exit 3; into+=("$word"); done; }
words vars; words odd; words argv; words rest; mark=\${rest[0]} end=\${rest[1]} cwd=\${rest[2]}
files=(); IFS= read -r -d '' count || exit 3
while ((count-- > 0)); do IFS= read -r -d '' word || exit 3
  case $word in A*) IFS= read -r -N "\${word#A}" word || exit 3; word=A$word;; esac; files+=("$word"); done
there() { [ -e "$1" ] || [ -L "$1" ]; }
place() ( mode=; shopt -s dotglob nullglob; set -o pipefail
  for word in "\${files[@]}"; do case $word in
    E|R|P) mode=$word;;
    A*) printf %s "\${word#A}" | base64 -d | ${commandMark}=tool LC_ALL=C LD_PRELOAD= tar -x -p -f - -C / || exit 1;;
    *) case $mode in
      E) rm -rf -- "$word"/* || exit 1;;
      R) there "$word" && { rm -rf -- "$word" || exit 1; there "$word" && exit 1; };;
      P) [ -d "$word" ] || mkdir -p -- "$word" || exit 1;; esac;;
  esac; done )
kills() { local name value file; killed=0; for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] || continue; while read -r name value; do [ "$name" = oom_kill ] && killed=$value; done < "$file"; done; } 2>/dev/null
plain() { local LC_ALL=C; text=; IFS= read -r -d '' text < "$1"; ((\${#text} == $2)); } 2>/dev/null
spool() { local s=$1 n=1 size text last; exec 5>&- 6>&-
  while :; do
    while [ -e "$d/$s.$((n - most))" ]; do read -r -t 0.05 -u 8; done
    dd bs=65536 count=1 of="$d/$s.$n" 2>"$d/$s.log" || exec cat >/dev/null
    size=; { read -r; read -r; read -r size _; } < "$d/$s.log"
    case $size in ''|*[!0-9]*) size=$(wc -c < "$d/$s.$n");; esac
    ((size > 0)) || return
    last=; if ((size <= 256)) && plain "$d/$s.$n" "$size" && [[ $text == *"$end" ]]; then last=1; fi
    echo "$size" > "$d/$s.$n.s" || exec cat >/dev/null
    echo >&9
    if [ -n "$last" ]; then if IFS= read -r -N 1 _; then exec cat >/dev/null; fi; return; fi
    ((n++)); ((size >= 8192)) || read -r -t 0.01 -u 8
  done; } 2>/dev/null
supervise() { local code before
  exec 8<>"$d/rest" 9<>"$d/wake"; echo "$BASHPID" > "$d/pid"
  local passing=$BASHPID; exec 5> >(spool o); passing+=" $!"; exec 6> >(spool e); passing+=" $!"
  kills; before=$killed
  ( exec >&5 2>&6 5>&- 6>&- 8>&- 9>&-; trap - INT QUIT PIPE
    [ -z "$cwd" ] || cd -- "$cwd" || exit 126
    PATH=$own; [ \${#vars[@]} -eq 0 ] || export -- "\${vars[@]}"; export ${commandMark}="$mark"
    if [ \${#odd[@]} -gt 0 ]; then exec env -- "\${odd[@]}" "\${argv[@]}"; fi
    exec -- "\${argv[@]}" ) &
  wait $!; code=$?
  printf %s "$end" >&5; printf %s "$end" >&6
  kills; echo "$code $((killed - before)) $passing" > "$d/x"; echo >&9; }
acks() { local s n k; local -a files; local -A had=([o]=$hadOut [e]=$hadErr)
  while read -r s n; do
    [ "$s" = q ] && break
    files=(); for ((k = had[$s] + 1; k <= n; k++)); do files+=("$d/$s.$k" "$d/$s.$k.s"); done
    [ \${#files[@]} -eq 0 ] || rm -f "\${files[@]}"; had[$s]=$n
  done
  if [ "$s" = q ]; then rm -rf "$d"; echo >&9; else kill -KILL $$; fi; } 2>/dev/null
send() { local size text LC_ALL=C; read -r size < "$d/$1.$2.s" || exit 1
  if ((size <= 4096)) && plain "$d/$1.$2" "$size"; then printf '%s %s %s\\n%s' "$1" "$2" "$size" "$text"
  else printf '%s %s %s\\n' "$1" "$2" "$size" && cat "$d/$1.$2" || exit 1; fi; }
settled() { local dir pid text word keepers=0 seen=0 waits=0; quiet=0; ((looks++ < 50)) || return 0
  if ((looks % 8)); then for pid in $passing; do [ ! -d "/proc/$pid" ] || return 1; done; fi
  for dir in /proc/[0-9]*; do pid=\${dir#/proc/}
    case $pid in $$) seen=1; continue;; 1|"$listener") continue;; esac
    text=; IFS= read -r -d '' text < "$dir/stat"; [ -n "$text" ] || { waits=1; continue; }
    set -- \${text##*) }; [ "$1" = Z ] && ((\${18} < 2)) && continue
    if [ "$2" = 1 ]; then text=; while IFS= read -r -d '' word; do text+="$word "; done < "$dir/cmdline"
      [ "$text" = "sleep ${keeperSeconds} " ] && ((keepers++ == 0)) && continue; fi
    case " $passing " in *" $pid "*|*" $2 "*) waits=1;; *) return 0;; esac
  done; ((waits)) && return 1; quiet=$seen; } 2>/dev/null
if [ "$may" = 1 ] && { [ -d "\${d%/*}" ] || mkdir -p "\${d%/*}"; } && mkdir "$d" 2>/dev/null; then
  mkfifo "$d/wake" "$d/rest" || exit 5
  if [ \${#files[@]} -gt 0 ] && ! place </dev/null >/dev/null 2>&1; then
    rm -rf "$d"; echo f; while read -r s n && [ "$s" != q ]; do :; done; exit 0
  fi; unset files
  supervise </dev/null >/dev/null 2>&1 &
fi
[ -p "$d/rest" ] || { echo g; exit 0; }
exec 7<&0 9<>"$d/wake"
acks <&7 >/dev/null &
listener=$!
echo h
told= looks=0
while :; do
  while [ -s "$d/o.$out.s" ]; do send o "$out"; ((out++)); done
  while [ -s "$d/e.$err.s" ]; do send e "$err"; ((err++)); done
  rest=1
  if [ -z "$told" ] && [ -s "$d/x" ]; then read -r code kills passing < "$d/x"
    if settled; then told=1; echo "x $code $kills $quiet"; else rest=0.01; fi
  fi
  [ -d "$d" ] || exit 0
  if read -r -t $rest -u 9 || [ -n "$told" ]; then continue; fi
  if [ -s "$d/pid" ] && read -r pid < "$d/pid" && [ ! -d "/proc/$pid" ] && [ ! -s "$d/x" ]; then echo g; told=gone; fi
done`;

/** What a supervisor in a Pod is told when it starts a command, or when somebody connects to it again. */
export interface SuperviseOptions {
  /** A folder that nobody else uses. */
  readonly folder: string;
  /** The number of the next piece of standard output and of standard error. */
  readonly next: { readonly o: number; readonly e: number };
  /** The last piece of each that was acknowledged. */
  readonly had: { readonly o: number; readonly e: number };
  /** False when it has been started already. */
  readonly mayStart: boolean;
}

/** How many pieces of one stream lie in the Pod before the command is held back. */
export const mostPieces = 64;

/** The command that starts another one under a supervisor, or connects to one that runs. */
export function planSupervisor({ folder, next, had, mayStart }: SuperviseOptions): readonly string[] {
  return [
    "env",
    `${commandMark}=tool`,
    "bash",
    "-p",
    "-c",
    script,
    "bash",
    folder,
    ...[next.o, next.e, had.o, had.e, mostPieces, mayStart ? 1 : 0].map(String),
  ];
}
