import { RolloutError } from "../../../base/rollout-error.ts";
import { raceWithSignal } from "../../../engine/race-with-signal.ts";
import type { NetworkPolicy } from "../../environment.ts";
import type { DockerGround } from "../docker-ground.ts";
import { parseAllowedHost, type AllowedHost } from "../../../base/allowed-hosts.ts";
import type { AllowNetwork } from "./allow-network.ts";
import { disconnect, join, readNetworks } from "./networks.ts";

// More than this helps nobody, and an agent may ask for names without end.
const mostRefused = 100;

/** What one container may reach, enforced where nothing inside of it can change it. */
export class ContainerNetwork {
  readonly #ground: DockerGround;
  readonly #id: string;
  readonly #seen = new Set<string>();
  #refused: string[] = [];
  /** Where the container was at first. */
  #home: readonly string[] | null = null;
  /** Null while it changes, and when a change failed. */
  #policy: NetworkPolicy | null = "full";
  #visit: { readonly network: AllowNetwork; readonly address: string } | null = null;

  constructor(ground: DockerGround, id: string) {
    this.#ground = ground;
    this.#id = id;
  }

  /** Variables that commands need to reach what is allowed. */
  get env(): Readonly<Record<string, string>> {
    return this.#visit?.network.env ?? {};
  }

  /** Changes what it may reach; when that fails, it reaches less than it should and never more. */
  async set(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    if (policy === this.#policy) return;
    const allowed = typeof policy === "string" ? null : policy.allow.map(readAllowed);
    const allow = allowed === null ? null : await this.#openAllow(signal);
    this.leave();
    this.#policy = null;
    this.#seen.clear();
    const { engine } = this.#ground;
    const present = await readNetworks(engine, this.#id, signal);
    this.#home ??= [...present.keys()];
    const wanted = allow ? [allow.name] : policy === "full" ? this.#home : [];
    for (const name of present.keys()) if (!wanted.includes(name)) await disconnect(engine, name, this.#id, signal);
    for (const name of wanted) if (!present.has(name)) await join(engine, name, this.#id, signal);
    if (allow && allowed) await this.#visitProxy(allow, allowed, signal);
    this.#policy = policy;
  }

  /** Closes the proxy to it. */
  leave(): void {
    this.#visit?.network.dismiss(this.#visit.address);
    this.#visit = null;
  }

  /** Takes a container that is kept out of a network that ends with this process. */
  async keep(signal: AbortSignal): Promise<void> {
    const visit = this.#visit;
    this.leave();
    if (visit) await disconnect(this.#ground.engine, visit.network.name, this.#id, signal);
  }

  /** What was asked for in vain since the last call, as `host:port`, each once under one policy. */
  takeRefused(): readonly string[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  async #openAllow(signal: AbortSignal): Promise<AllowNetwork> {
    const { allowNetwork } = this.#ground;
    if (allowNetwork === null) throw new RolloutError("unsupported", "a list of allowed hosts cannot be enforced here");
    const network = await raceWithSignal(allowNetwork.get(signal), signal, () => {});
    await network.guard();
    return network;
  }

  async #visitProxy(network: AllowNetwork, allowed: readonly AllowedHost[], signal: AbortSignal): Promise<void> {
    const address = (await readNetworks(this.#ground.engine, this.#id, signal)).get(network.name) ?? "";
    if (address === "") throw new RolloutError("exec_failed", "the container has no address in the network it joined");
    network.admit({ address, allowed, onRefused: (target) => this.#noteRefused(target) });
    this.#visit = { network, address };
  }

  #noteRefused(target: string): void {
    if (this.#seen.has(target) || this.#seen.size >= mostRefused) return;
    this.#seen.add(target);
    this.#refused.push(target);
  }
}

function readAllowed(text: string): AllowedHost {
  const allowed = parseAllowedHost(text);
  if (allowed === null) throw new RolloutError("config_invalid", `"${text}" is no host that can be allowed`);
  return allowed;
}
