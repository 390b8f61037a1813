import { spawn } from "node:child_process";
import { chmodSync, cpSync, lchownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResourceLimits } from "../../src/environments/environment.ts";
import { planCommand } from "../../src/environments/local/command-words.ts";
import { planGroupSettings, type GroupPlaces } from "../../src/environments/local/control-groups.ts";
import type { EnvironmentRecord } from "../../src/environments/local/environment-records.ts";
import type { IdMap } from "../../src/environments/local/id-map.ts";
import { defaultPath } from "../../src/environments/local/local-image.ts";
import { planMounts, renderMountTable } from "../../src/environments/local/plan-mounts.ts";
import { toolWords } from "../../src/environments/local/toolbox.ts";
import { instruction } from "../trials/trivial-task.ts";

export interface FloorOptions {
  /** A folder beside those of the environments, so that the table of mounts holds for it, too. */
  readonly directory: string;
  /** Of an environment that the provider made: the floor stands on the same base. */
  readonly record: EnvironmentRecord;
  readonly idMap: IdMap;
  readonly groupPlaces: GroupPlaces | null;
  readonly limits: ResourceLimits;
  readonly taskDirectory: string;
}

/** Trials without Rollout: the same mounts, commands and copies, from a shell script. */
export interface Floor extends Disposable {
  run(trials: number, inFlight: number): Promise<void>;
}

/** Prepares the floor; everything that is the same for all trials is done here. */
export function openFloor(options: FloorOptions): Floor {
  const { directory } = options;
  makeTemplate(options);
  const script = renderScript(options);
  let batch = 0;
  return {
    async run(trials, inFlight) {
      batch++;
      const slots = Array.from({ length: inFlight }, (_, slot) =>
        runSlot(
          script,
          directory,
          `${process.pid}-${batch}-${slot}`,
          Math.floor(trials / inFlight) + (slot < trials % inFlight ? 1 : 0),
        ),
      );
      await Promise.all(slots);
      rmSync(join(directory, "results"), { recursive: true, force: true });
      mkdirSync(join(directory, "results"));
    },
    [Symbol.dispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function runSlot(script: string, directory: string, name: string, trials: number): Promise<void> {
  const child = spawn("bash", ["-c", script, "floor", name, String(trials)], {
    cwd: directory,
    env: { PATH: defaultPath },
    stdio: ["ignore", "inherit", "pipe"],
  });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2000)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`the floor ended with ${code}: ${complaint}`)),
    );
  });
}

// What the trials find prepared, owned by the ids of the environment, so that one copy brings it all.
function makeTemplate({ directory, record, idMap, taskDirectory }: FloorOptions): void {
  const plan = planMounts({ ...record, isBuild: false });
  const template = join(directory, "template");
  const make = (path: string, mode: number): void => {
    mkdirSync(join(template, path), { recursive: true });
    chmodSync(join(template, path), mode);
  };
  make("root", 0o755);
  make("disk", 0o755);
  for (const [path, mode] of Object.entries(plan.directories)) make(join("disk", path), mode);
  for (const name of ["agent", "verifier"]) make(`disk/volumes/logs/${name}`, 0o777);
  writeFileSync(join(template, "disk/volumes/tmp/instruction.md"), instruction);
  writeFileSync(join(template, "mounts"), renderMountTable(plan.mounts));
  for (const name of ["solution", "tests"])
    cpSync(join(taskDirectory, name), join(directory, name), { recursive: true });
  mkdirSync(join(directory, "results"));
  for (const name of ["template", "solution", "tests"]) own(join(directory, name), idMap);
}

function own(path: string, idMap: IdMap): void {
  const [uid = 0, gid = 0] = [idMap.uids[0]?.outside, idMap.gids[0]?.outside];
  lchownSync(path, uid, gid);
  for (const entry of readdirSync(path, { recursive: true })) lchownSync(join(path, String(entry)), uid, gid);
}

function renderScript({ idMap, groupPlaces, limits }: FloorOptions): string {
  const words = (list: readonly string[]): string => list.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const map = (ranges: IdMap["uids"]): string =>
    ranges.map(({ inside, outside, count }) => `${inside} ${outside} ${count}`).join("\n");
  const named = (text: string): string => text.replaceAll("NAME", "$name");
  const settings = groupPlaces === null ? [] : planGroupSettings(groupPlaces, "rollout-floor-NAME", limits);
  const groups = [...new Set(settings.map(([file]) => named(join(file, ".."))))];
  const enter = planCommand({
    sandboxPid: 0,
    idMap,
    networkPid: null,
    prelude: "",
    nsenter: "nsenter",
    command: ["bash"],
    env: {},
    cwd: "/app",
    user: null,
  }).args.slice(5);
  return `set -eu
init='set -eu
read -r pid _ </proc/self/stat
hostname rollout
mount -c -a -T mounts
cd root; pivot_root . .; ${toolWords("umount").join(" ")} -l .; cd /
echo 0 >/proc/sys/user/max_user_namespaces
echo "$pid"
trap "" CHLD
exec -c "$@" >/dev/null 2>&1'
enter=(${words(enter)})
groups() { ${groups.length === 0 ? ":" : `for group in ${groups.join(" ")}; do "$@"; done`}; }
# A background job that ends just then interrupts the write.
put() { until echo "$1" 2>/dev/null >"$2"; do :; done; }
join() { put 0 "$group/${groupPlaces?.version === 1 ? "tasks" : "cgroup.procs"}"; }
leave() { rmdir "$group"; }
run() {
  enter[2]=$pid
  (groups join; exec env -i PATH=$PATH HOME=/root "\${enter[@]}" "$1") </dev/null >"results/$name.out" 2>"results/$name.err"
}
for ((n = 0; n < $2; n++)); do
  name=$1-$n
  cp -a template "$name"
  ${groups.length === 0 ? "" : `mkdir ${groups.join(" ")}`}
  ${settings.map(([file, value]) => `[ ! -e ${named(file)} ] || put ${value} ${named(file)}`).join("\n  ")}
  coproc BOX { groups join; cd "$name"; exec unshare -U --keep-caps -- bash -p -c 'echo; read -r _; exec setpriv --pdeathsig KILL --reuid 0 --regid 0 --clear-groups "$@"' bash -- unshare -m -p -f -i -u --kill-child=KILL -- bash -p -c "$init" bash ${words(toolWords("cat"))}; }
  box=$BOX_PID
  read -r _ <&\${BOX[0]}
  echo '${map(idMap.uids)}' >/proc/$box/uid_map
  echo '${map(idMap.gids)}' >/proc/$box/gid_map
  echo >&\${BOX[1]}
  read -r pid <&\${BOX[0]}
  cp -a solution/. "$name/disk/volumes/oracle"
  run /oracle/solve.sh
  cp -a tests/. "$name/disk/volumes/tests"
  run /tests/test.sh
  cp -r "$name/disk/volumes/logs" "results/$name"
  read -r reward <"results/$name/verifier/reward.txt"
  [ "$reward" = 1 ]
  kill -KILL "$pid"
  wait "$box" || :
  groups leave
  rm -rf "$name" &
done
wait`;
}
