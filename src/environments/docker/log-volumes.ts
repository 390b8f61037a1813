import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Host } from "../../base/host.ts";
import { isOwnerAlive, readOwner } from "../../base/process-owner.ts";
import type { Engine } from "./connection/open-engine.ts";
import type { DockerConfig } from "./docker-config-schema.ts";
import type { ImageNote } from "./images/image-notes.ts";
import { logsPath, LogVolume } from "./log-volume.ts";

const never = new AbortController().signal;

/** Gives containers a log directory of this machine where engine and process see the same files. */
export class LogVolumes {
  readonly #engine: Engine;
  readonly #host: Host;
  readonly #directory: string;
  readonly #looks = new WeakMap<ImageNote, Promise<boolean>>();
  #isPossible: boolean;
  #isProven = false;

  constructor(engine: Engine, host: Host, config: DockerConfig) {
    this.#engine = engine;
    this.#host = host;
    this.#directory = join(host.cacheDir, "docker", "logs");
    const isTaken = config.mounts.some(({ target }) => posix.normalize(target).startsWith(logsPath));
    // Only root can read, and take away, what any user of a container has written.
    this.#isPossible = engine.mountsHostPaths && host.uid === 0 && host.platform === "linux" && !isTaken;
  }

  /** A volume for a container of that image; null when there can be none, or the image brings logs of its own. The image is looked at once. */
  async open(note: ImageNote, look: () => Promise<boolean>): Promise<LogVolume | null> {
    if (!this.#isPossible) return null;
    const looking = this.#looks.get(note) ?? look();
    this.#looks.set(note, looking);
    try {
      const bringsLogs = await looking;
      if (bringsLogs || !this.#isPossible) return null;
    } catch (error) {
      this.#looks.delete(note);
      throw error;
    }
    const { pid, bootId, startTicks } = readOwner(this.#host);
    return new LogVolume(join(this.#directory, [pid, bootId, startTicks ?? "", randomUUID()].join("_")));
  }

  /** Whether the engine sees in a container what we put into its volume; it is asked once. */
  async isShared(volume: LogVolume, containerId: string): Promise<boolean> {
    if (this.#isProven) return true;
    const name = `proof-${randomUUID()}`;
    const file = join(volume.hostPath, name);
    writeFileSync(file, "");
    const path = `/containers/${containerId}/archive`;
    const query = { path: `${logsPath}/${name}` };
    this.#isProven = await this.#engine.client.text({ method: "HEAD", path, query, signal: never }).then(
      () => true,
      () => false,
    );
    rmSync(file, { force: true });
    if (!this.#isProven) this.giveUp();
    return this.#isProven;
  }

  /** To be called when the engine does not find our directories. */
  giveUp(): void {
    this.#isPossible = false;
  }

  /** Removes what dead processes left, and what was kept for containers that are gone. */
  async reap(containerIds: readonly string[]): Promise<void> {
    for (const name of existsSync(this.#directory) ? readdirSync(this.#directory) : []) {
      const [pid = "", bootId = "", ticks = ""] = name.split("_");
      const startTicks = ticks === "" ? null : Number(ticks);
      const owner = { pid: Number(pid), bootId, hostname: this.#host.hostname, startTicks };
      if (!Number.isInteger(owner.pid) || isOwnerAlive(owner, this.#host, 0)) continue;
      const marker = join(this.#directory, name, "kept");
      const kept = existsSync(marker) ? readFileSync(marker, "utf8") : null;
      if (kept !== null && containerIds.includes(kept)) continue;
      await rm(join(this.#directory, name), { recursive: true, force: true });
    }
  }
}
