import { readFileSync } from "node:fs";
import { readJsonLines } from "../json-lines.ts";
import type { ContainerCommands } from "./container-commands.ts";
import type { DockerGround } from "./docker-ground.ts";

const never = new AbortController().signal;

// What the kernel has counted, in its two generations.
const countScript = `count=0
while read -r name value; do [ "$name" = oom_kill ] && count=$value; done < <(cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null)
echo "$count"`;

// Where engines on this machine keep the group of a container, in both generations.
function groupFiles(id: string): string[] {
  const places = [
    `docker/${id}`,
    `system.slice/docker-${id}.scope`,
    `libpod_parent/libpod-${id}`,
    `machine.slice/libpod-${id}.scope`,
  ];
  return places.flatMap((place) => [
    `/sys/fs/cgroup/${place}/memory.events`,
    `/sys/fs/cgroup/memory/${place}/memory.oom_control`,
  ]);
}

/** Knows whether the memory limit has killed something in a container since it was last asked. */
export class MemoryKills {
  readonly #ground: DockerGround;
  readonly #id: string;
  readonly #commands: ContainerCommands;
  #groupFile: string | null | undefined;
  #seen = 0;

  constructor(ground: DockerGround, id: string, commands: ContainerCommands) {
    this.#ground = ground;
    this.#id = id;
    this.#commands = commands;
  }

  /** Asks only about what came after the last call; an engine that does not say counts as no. */
  async areNew(): Promise<boolean> {
    const count = await this.#count().catch(() => this.#seen);
    const isNew = count > this.#seen;
    this.#seen = Math.max(this.#seen, count);
    return isNew;
  }

  async #count(): Promise<number> {
    const here = this.#countHere();
    if (here !== null) return here;
    const { engine, clock } = this.#ground;
    if (engine.product === "podman") {
      const { output } = await this.#commands.runTool(["bash", "-p", "-c", countScript], never);
      return Number.parseInt(output, 10) || 0;
    }
    const filters = JSON.stringify({ container: [this.#id], event: ["oom"] });
    const until = (clock.now() + engine.clockAheadMs) / 1000;
    const query = { since: 0, until: until.toFixed(3), filters };
    const answer = await engine.client.open({ method: "GET", path: "/events", query, signal: never });
    let count = 0;
    for await (const event of readJsonLines(answer)) if (event["Action"] === "oom") count++;
    return count;
  }

  // The kernel's own count costs no call; an engine forgets events once others have followed.
  #countHere(): number | null {
    const isNear = this.#ground.engine.client.endpoint.kind === "unix";
    const files = isNear && this.#groupFile === undefined ? groupFiles(this.#id) : [];
    this.#groupFile ??= files.find((path) => readCount(path) !== null) ?? null;
    return this.#groupFile === null ? null : readCount(this.#groupFile);
  }
}

function readCount(path: string): number | null {
  try {
    const count = /^oom_kill (\d+)$/m.exec(readFileSync(path, "utf8"))?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}
