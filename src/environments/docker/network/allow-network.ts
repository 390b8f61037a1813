import { randomUUID } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import type { Log } from "../../../base/log.ts";
import { ownerLabels } from "../../../base/owner-labels.ts";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { Engine } from "../connection/open-engine.ts";
import { wrapEngineError } from "../connection/engine-error.ts";
import { bridgeOf, guardBridge, unguardBridge } from "./bridge-guard.ts";
import { EgressProxy, type ProxyGuest } from "./egress-proxy.ts";
import { markLabel, removeNetwork } from "./networks.ts";

const openLimitMs = 60_000;
const closeLimitMs = 60_000;

export interface AllowNetworkOptions {
  readonly engine: Engine;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  /** The path of iptables. */
  readonly iptables: string;
}

/** A network without a way out, and the proxy on its gateway; one serves all the containers of a process. */
export class AllowNetwork implements AsyncDisposable {
  /** The network's name at the engine. */
  readonly name: string;
  /** Variables that lead a client to the proxy. */
  readonly env: Readonly<Record<string, string>>;
  readonly #options: AllowNetworkOptions;
  readonly #mark: string;
  readonly #gateway: string;
  readonly #proxy: EgressProxy;
  #guarding: Promise<void> = Promise.resolve();

  private constructor(options: AllowNetworkOptions, mark: string, gateway: string, proxy: EgressProxy) {
    this.name = nameOf(mark);
    this.env = proxyVariables(`http://${gateway}:${proxy.port}`);
    this.#options = options;
    this.#mark = mark;
    this.#gateway = gateway;
    this.#proxy = proxy;
  }

  /** Makes it; when that fails, nothing of it is left. */
  static async open(options: AllowNetworkOptions): Promise<AllowNetwork> {
    const { engine, clock } = options;
    const mark = randomUUID().slice(0, 8);
    const limit = { clock, limitMs: openLimitMs, parent: null, what: "making the network" };
    using deadline = startDeadline(limit);
    try {
      const gateway = await createNetwork(options, mark, deadline.signal);
      const proxy = await openProxy(gateway, clock);
      const network = new AllowNetwork(options, mark, gateway, proxy);
      await network.guard().catch((error: unknown) => proxy[Symbol.asyncDispose]().then(() => Promise.reject(error)));
      return network;
    } catch (error) {
      await removeAll(options, mark);
      throw wrapEngineError(error, "exec_failed", `making a network on ${engine.product}`);
    }
  }

  /** Makes sure that the rules stand; somebody may have emptied the tables since. */
  guard(): Promise<void> {
    const guarded = { mark: this.#mark, gateway: this.#gateway, port: this.#proxy.port };
    const work = (): Promise<void> => guardBridge(this.#options.iptables, guarded);
    this.#guarding = this.#guarding.then(work, work);
    return this.#guarding;
  }

  admit(guest: ProxyGuest): void {
    this.#proxy.admit(guest);
  }

  dismiss(address: string): void {
    this.#proxy.dismiss(address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await removeAll(this.#options, this.#mark);
  }
}

function nameOf(mark: string): string {
  return `rollout-allow-${mark}`;
}

async function createNetwork(
  { engine, host }: AllowNetworkOptions,
  mark: string,
  signal: AbortSignal,
): Promise<string> {
  const json = {
    Name: nameOf(mark),
    Driver: "bridge",
    Internal: true,
    EnableIPv6: false,
    Labels: { ...ownerLabels(host), [markLabel]: mark },
    Options: {
      "com.docker.network.bridge.name": bridgeOf(mark),
      "com.docker.network.bridge.enable_icc": "false",
    },
  };
  await engine.client.text({ method: "POST", path: "/networks/create", json, signal });
  const path = `/networks/${nameOf(mark)}`;
  const answer = await engine.client.json<{
    readonly IPAM?: { readonly Config?: readonly { readonly Gateway?: string }[] };
  }>({
    method: "GET",
    path,
    signal,
  });
  const gateway = answer.IPAM?.Config?.[0]?.Gateway?.replace(/\/.*$/, "");
  if (gateway === undefined) throw new RolloutError("unsupported", "the engine gave the network no gateway");
  return gateway;
}

async function openProxy(gateway: string, clock: Clock): Promise<EgressProxy> {
  try {
    return await EgressProxy.open(gateway, clock);
  } catch (error) {
    throw new RolloutError("unsupported", `${gateway}, the gateway of the network, is no address of this machine`, {
      hint: "environment.network with allow needs an engine on the machine that rollout runs on",
      cause: error,
    });
  }
}

// The rules go last: as long as there is a bridge, it is guarded.
async function removeAll({ engine, clock, log, iptables }: AllowNetworkOptions, mark: string): Promise<void> {
  using deadline = startDeadline({ clock, limitMs: closeLimitMs, parent: null, what: "removing the network" });
  try {
    await removeNetwork({ engine, clock }, nameOf(mark), deadline.signal);
    await unguardBridge(iptables, mark);
  } catch (error) {
    log.write(
      "warn",
      `the network ${nameOf(mark)} could not be removed; the next job tries again: ${messageOf(error)}`,
    );
  }
}

function proxyVariables(address: string): Record<string, string> {
  const own = "localhost,127.0.0.1,::1";
  const names = ["http_proxy", "https_proxy", "all_proxy"];
  const both = Object.entries({ ...Object.fromEntries(names.map((name) => [name, address])), no_proxy: own });
  return Object.fromEntries(
    both.flatMap(([name, value]) => [[name, value] as const, [name.toUpperCase(), value] as const]),
  );
}
