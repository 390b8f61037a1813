import { readJsonLines } from "./connection/json-lines.ts";
import type { ContainerCommands } from "./container-commands.ts";
import type { DockerGround } from "./docker-ground.ts";

const never = new AbortController().signal;

// What the kernel has counted, in its two generations.
const countScript = `count=0
while read -r name value; do [ "$name" = oom_kill ] && count=$value; done < <(cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null)
echo "$count"`;

/** Knows whether the memory limit has killed something in a container since it was last asked. */
export class MemoryKills {
  readonly #ground: DockerGround;
  readonly #id: string;
  readonly #commands: ContainerCommands;
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
}
