import { commandMark } from "../../guest/end-processes.ts";
import { keeperSeconds } from "../../guest/keeper.ts";

// A command runs beside the connection that started it: what it prints lies in numbered pieces in files of the Pod
// until we say that we have them, and a piece that is not taken holds it back. Whoever connects again goes on where the
// last one was cut off. What bash can do by itself, and the smallest tools for the rest: dd, cat, rm, mkdir.
//
// The command has a group of its own, so that `kill 0` reaches nothing of ours, and the variables that the image gave it,
// not ours of the same name.
// A read that is to end after some time may swallow what it was to end at (bash 5.2 does when both happen at once), so
// that none of them reads what a command prints: it is read byte by byte, and by dd when it is much. The mark of its end
// is written at once, so that the rest of it is there when its first two bytes are.
// crowded() counts the processes of the Pod. It says yes only where the keeper is process 1, so that `kill -1` cannot
// reach anything but a Pod of ours.
//
// Arguments: what the names of its files begin with, the next piece of each stream, the last that was taken away, how
// many may lie there, whether it may be started, how many processes the Pod may have (0 for any number).
// Input: the words of the command as counted lists that end with NUL each, then what is placed before it starts (paths
// after E, R and P as for a copy, archives as A and their length), then lines: `o 3` (pieces up to 3 are
// here), `e 3`, and `q` (all is well, forget it).
// Output, with as few writes as can be, because each passes through every program of the cluster: `f;` (what was to be
// placed could not be, nothing was started), `h;` (it has been started), `o 3 512;` and `e 3 512;` with so many bytes
// after it, `x 0 0 1 0;` (its exit code, what the memory limit killed meanwhile, whether nothing else runs in the Pod,
// whether everything was killed because there were too many processes),
// `g;` (it is gone without an exit code).
const script = `unset script; kept=(); while IFS= read -r -d '' word; do
  case $word in [a-z]*|TMOUT=*|FUNCNEST=*|GLOBIGNORE=*|POSIXLY_CORRECT=*) kept+=("$word");; esac; done < /proc/$$/environ 2>/dev/null
unset TMOUT FUNCNEST GLOBIGNORE; set +o posix
d=$1 most=$6 may=$7 pids=$8 dir=\${1%/*}; declare -A next=([o]=$2 [e]=$3) had=([o]=$4 [e]=$5)
own=$PATH; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
words() { local -n into=$1; local count word; into=(); IFS= read -r -d '' count || exit 3
  while ((count-- > 0)); do IFS= read -r -d '' word || exit 3; into+=("$word"); done; }
words vars; words odd; words argv; words last; mark=\${last[0]} end=\${last[1]} cwd=\${last[2]}; unset last
files=(); IFS= read -r -d '' count || exit 3
while ((count-- > 0)); do IFS= read -r -d '' word || exit 3
  case $word in A*) IFS= read -r -N "\${word#A}" word || exit 3; word=A$word;; esac; files+=("$word"); done
pipe() { eval "exec $1<<<x; [ -p /dev/fd/$1 ] || exec $1< <(echo x); exec $1<>/dev/fd/$1"; read -r -u "$1"; } 2>/dev/null
wake() { read -r -t 0 -u 9 || echo >&9; }
claim() { set -C; true > "$1"; local failed=$?; set +C; return $failed; } 2>/dev/null
there() { [ -e "$1" ] || [ -L "$1" ]; }
tidy() { local path k; for ((k = 0; k < \${#away[@]}; k += 200)); do rm -rf -- "\${away[@]:k:200}" || return 1; done
  for path in "\${away[@]}"; do there "$path" && return 1; done; away=()
  [ \${#made[@]} -eq 0 ] || mkdir -p -- "\${made[@]}" || return 1; made=(); }
place() { local mode word; local -a away made; shopt -s dotglob nullglob; set -o pipefail
  for word in "\${files[@]}"; do case $word in
    E) tidy || return 1; mode=E;;
    R|P) mode=$word;;
    A*) tidy && printf %s "\${word#A}" | base64 -d | ${commandMark}=tool LC_ALL=C LD_PRELOAD= tar -x -p -f - -C / || return 1;;
    *) case $mode in
      E) away+=("$word"/*);;
      R) there "$word" && away+=("$word");;
      P) [ -d "$word" ] || made+=("$word");; esac;;
  esac; done; tidy; }
kills() { local name value file; killed=0; for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$file" ] || continue; while read -r name value; do [ "$name" = oom_kill ] && killed=$value; done < "$file"; done; } 2>/dev/null
crowded() { local now= file word text=; ((pids > 0)) || return 1
  for file in /sys/fs/cgroup/pids.current /sys/fs/cgroup/pids/pids.current; do [ -r "$file" ] && read -r now < "$file" && break; done
  case $now in ''|*[!0-9]*) set -- /proc/[0-9]*; now=$#;; esac; ((now > pids)) || return 1
  while IFS= read -r -d '' word; do text+="$word "; done < /proc/1/cmdline; [[ $text == *" sleep ${keeperSeconds} "* ]]; } 2>/dev/null
ended() { local word text=; while IFS= read -r -d '' word; do text=$word; done < "$1"; [ -z "$word" ] && [[ $text == *"$end" ]]; }
short() { local word text= waited= code=0 want=1; size=0; IFS= read -r -d '' -n 1 word || return 3
  while :; do
    text+=$word; ((size += \${#word}))
    if ((code == 0 && \${#word} < want)); then
      printf '%s\\0' "$text" || return 2; ((++size)); [[ $text == *"$end" ]] && { last=1; return 0; }; text=
    fi
    ((code == 0)) || break; ((size < 128)) || { much=1; break; }
    if [[ $text == *"\${end:0:2}" ]]; then want=$((\${#end} - 1))
    else want=1; if ! read -r -t 0; then [ -z "$waited" ] || break; waited=1; read -r -t 0.003 -u 8; read -r -t 0 || break; fi; fi
    IFS= read -r -d '' -n $want word; code=$?
  done; printf %s "$text" || return 2; }
spool() { local s=$1 n=1 size much= last= LC_ALL=C; exec 5>&- 6>&-; ((BASH_VERSINFO[0] > 4)) || much=old
  while :; do
    while [ -e "$d.$s.$((n - most))" ]; do read -r -t 0.05 -u 8; done
    if [ -z "$much" ]; then short > "$d.$s.$n"; case $? in 0) ;; 3) return;; *) exec cat >/dev/null;; esac
    else
      dd bs=65536 count=1 of="$d.$s.$n" 2>"$d.$s.log" || exec cat >/dev/null
      size=; { read -r; read -r; read -r size _; } < "$d.$s.log"
      case $size in ''|*[!0-9]*) size=$(wc -c < "$d.$s.$n");; esac
      ((size > 0)) || return
      ((size > 256)) || ! ended "$d.$s.$n" || last=1
      ((size > 4096)) || [ "$much" = old ] || much=
    fi
    echo "$size" > "$d.$s.$n.s" || exec cat >/dev/null
    [ -e "$d.lock" ] || { rm -f "$d.$s.$n" "$d.$s.$n.s"; exec cat >/dev/null; }
    wake
    if [ -n "$last" ]; then if IFS= read -r -N 1 _; then exec cat >/dev/null; fi; return; fi
    ((n++)); [ -z "$much" ] || ((size >= 8192)) || read -r -t 0.01 -u 8
  done; } 2>/dev/null
supervise() { local code before; claim "$d.own" || return; echo "$BASHPID" > "$d.pid"
  local passing=$BASHPID; exec 5> >(spool o); passing+=" $!"; exec 6> >(spool e); passing+=" $!"
  kills; before=$killed; set -m
  ( exec >&5 2>&6 5>&- 6>&- 8>&- 9>&-; trap - INT QUIT PIPE
    [ -z "$cwd" ] || cd -- "$cwd" || exit 126
    set -- "\${argv[@]}"; rollout_vars=("\${kept[@]}" PATH="$own" "\${vars[@]}" ${commandMark}="$mark")
    if [ \${#odd[@]} -gt 0 ]; then exec env -- "\${rollout_vars[@]}" "\${odd[@]}" "$@"; fi
    unset next had kept vars odd argv files list; export -- "\${rollout_vars[@]}" 2>/dev/null; exec -- "$@" ) &
  set +m; wait $!; code=$?
  printf '%s\\0' "$end" >&5; printf '%s\\0' "$end" >&6
  kills; echo "$code $((killed - before)) $passing" > "$d.x"; wake; }
begin() { echo $$ > "$d.lock"
  if [ \${#files[@]} -gt 0 ] && ! place </dev/null >/dev/null 2>&1; then
    rm -f "$d".*; printf 'f;'; while read -r s n && [ "$s" != q ]; do :; done; exit 0
  fi; unset files; idle=1
  supervise </dev/null >/dev/null 2>&1 & }
hear() { local s n k; local -a taken
  while [ -n "$told" ] || read -r -t 0; do
    read -r -t 0.05 s n || { k=$?; [ "$s" = q ] || { ((k > 128)) && return; exit 0; }; }
    [ "$s" = q ] && { rm -f "$d".*; exit 0; }
    taken=(); for ((k = had[$s] + 1; k <= n; k++)); do taken+=("$d.$s.$k" "$d.$s.$k.s"); done
    [ \${#taken[@]} -eq 0 ] || rm -f "\${taken[@]}"; had[$s]=$n
  done; } 2>/dev/null
form= held=0; list=()
say() { [ -z "$form" ] || printf "$form" "\${list[@]}" || exit 1; form= held=0; list=(); }
send() { local size word count=0 LC_ALL=C more; local -a words=(); read -r size < "$d.$1.$2.s" || exit 1; more="$1 $2 $size;"
  if ((size <= 4096)); then
    while IFS= read -r -d '' word; do more+='%s\\0'; words+=("$word"); ((count += \${#word} + 1)); done < "$d.$1.$2"
    more+=%s; words+=("$word"); ((count += \${#word}))
    if ((count == size)); then form+=$more; list+=("\${words[@]}"); (((held += size) < 16384)) || say; return; fi
  fi; say; printf '%s %s %s;' "$1" "$2" "$size" && cat "$d.$1.$2" || exit 1; }
settled() { local dir pid text word born now keepers=0 seen=0 waits=0; quiet=0; ((looks++ < 50)) || return 0
  if ((looks % 8)); then for pid in $passing; do [ ! -d "/proc/$pid" ] || return 1; done; fi
  read -r _ _ _ _ born < /proc/loadavg
  for dir in /proc/[0-9]*; do pid=\${dir#/proc/}
    case $pid in $$) seen=1; continue;; 1) continue;; esac
    text=; IFS= read -r -d '' text < "$dir/stat"; [ -n "$text" ] || { waits=1; continue; }
    set -- \${text##*) }; [ "$1" = Z ] && ((\${18} < 2)) && continue
    if [ "$2" = 1 ]; then text=; while IFS= read -r -d '' word; do text+="$word "; done < "$dir/cmdline"
      [ "$text" = "sleep ${keeperSeconds} " ] && ((keepers++ == 0)) && continue; fi
    case " $passing " in *" $pid "*|*" $2 "*) waits=1;; *) return 0;; esac
  done; read -r _ _ _ _ now < /proc/loadavg; [ "$born" = "$now" ] || return 1
  ((waits)) && return 1; quiet=$seen; } 2>/dev/null
pipe 8; pipe 9; idle=0.1 pid=
if [ "$may" = 1 ]; then
  [ -d "$dir" ] || mkdir -p "$dir"
  for ((k = 0; ; k++)); do
    if claim "$d.lock"; then begin; pid=$!; break; fi
    [ ! -e "$d.own" ] || break
    if [ ! -e "$d.lock" ]; then ((k < 3)) || break; continue; fi
    owner=; read -r owner < "$d.lock" || ((k > 100)) || owner=$$
    if [ ! -d "/proc/\${owner:-none}" ] || ((k > 6000)); then begin; break; fi
    read -r -t 0.05 -u 8
  done
fi
[ -e "$d.lock" ] || { printf 'g;'; exit 0; }
form='h;' told= looks=0 rest=0.02
while :; do
  for s in o e; do while [ -s "$d.$s.\${next[$s]}.s" ]; do send $s "\${next[$s]}"; ((next[$s]++)); done; done
  if [ -z "$told" ] && [ -s "$d.x" ]; then read -r code kills passing < "$d.x"
    if settled; then told=1; form+="x $code $kills $quiet 0;"; continue; else rest=0.01; fi
  elif [ "$form" != 'h;' ] || [ "$rest" = $idle ]; then say; fi
  hear
  if [ -z "$told" ] && crowded; then kill -KILL -1; form+='x 137 0 0 1;g;' told=gone; fi
  if read -r -t $rest -u 9 || [ -n "$told" ]; then rest=0.02; continue; fi
  if [ "$rest" = $idle ]; then
    [ -n "$pid" ] || [ ! -s "$d.pid" ] || read -r pid < "$d.pid"
    [ -z "$pid" ] || [ -d "/proc/$pid" ] || [ -s "$d.x" ] || { form+='g;' told=gone; }
  fi
  rest=$idle; ((next[o] - had[o] < 20 && next[e] - had[e] < 20)) || rest=0.02
done`;

/** What a supervisor in a Pod is told when it starts a command, or when somebody connects to it again. */
export interface SuperviseOptions {
  /** What the paths of its files begin with; nobody else's do. */
  readonly stem: string;
  /** The number of the next piece of standard output and of standard error. */
  readonly next: { readonly o: number; readonly e: number };
  /** The last piece of each that was acknowledged. */
  readonly had: { readonly o: number; readonly e: number };
  /** False when it has been started already. */
  readonly mayStart: boolean;
  /** Everything in the Pod is killed when it has more processes. Default: any number. */
  readonly pids?: number | undefined;
}

/** How many pieces of one stream lie in the Pod before the command is held back. */
export const mostPieces = 64;

// The script comes over the input: what stands in a command is an address, which servers keep in their logs.
const starter = `IFS= read -r -N "$1" script || exit 3; shift; eval "$script"`;

/** What a supervisor reads before anything else. */
export const supervisorScript: Buffer = Buffer.from(script);

/** The command that starts another one under a supervisor, or connects to one that runs. */
export function planSupervisor({ stem, next, had, mayStart, pids = 0 }: SuperviseOptions): readonly string[] {
  return [
    "env",
    `${commandMark}=tool`,
    "bash",
    "-p",
    "-c",
    starter,
    "bash",
    String(supervisorScript.length),
    stem,
    ...[next.o, next.e, had.o, had.e, mostPieces, mayStart ? 1 : 0, pids].map(String),
  ];
}
