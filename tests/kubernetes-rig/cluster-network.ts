import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addresses, stateDir } from "./cluster-places.ts";

const { bridge, node, pods, podRange, apiService, apiPort } = addresses;

// A Docker engine forbids forwarding; the API's own address is the API server's.
const rules: readonly (readonly [string, ...string[]])[] = [
  ["filter", "FORWARD", "-i", bridge, "-j", "ACCEPT"],
  ["filter", "FORWARD", "-o", bridge, "-j", "ACCEPT"],
  ["nat", "POSTROUTING", "-s", pods, "!", "-d", pods, "-j", "MASQUERADE"],
  [
    "nat",
    "PREROUTING",
    "-i",
    bridge,
    "-d",
    apiService,
    "-p",
    "tcp",
    "--dport",
    "443",
    "-j",
    "DNAT",
    "--to-destination",
    `${node}:${apiPort}`,
  ],
];

/** Makes a bridge on which the node and its Pods are, and how Pods come to it. */
export function makeNetwork(): void {
  if (!run("ip", "link", "show", bridge)) must("ip", "link", "add", bridge, "type", "bridge");
  run("ip", "addr", "replace", `${node}/16`, "dev", bridge);
  must("ip", "link", "set", bridge, "up");
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
  for (const [table, chain = "", ...rest] of rules) {
    if (!run("iptables", "-w", "-t", table, "-C", chain, ...rest))
      run("iptables", "-w", "-t", table, "-I", chain, ...rest);
  }
  mkdirSync(join(stateDir, "cni"), { recursive: true });
  const [rangeStart, rangeEnd] = podRange;
  const ranges = [[{ subnet: pods, rangeStart, rangeEnd, gateway: node }]];
  const ipam = { type: "host-local", dataDir: join(stateDir, "addresses"), ranges, routes: [{ dst: "0.0.0.0/0" }] };
  const plugin = { type: "bridge", bridge, isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  const list = { cniVersion: "0.4.0", name: "test", plugins: [plugin] };
  writeFileSync(join(stateDir, "cni", "10-test.conflist"), JSON.stringify(list));
}

/** Takes it away again. */
export function removeNetwork(): void {
  for (const [table, chain = "", ...rest] of rules) run("iptables", "-w", "-t", table, "-D", chain, ...rest);
  run("ip", "link", "del", bridge);
}

function run(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function must(program: string, ...args: readonly string[]): void {
  if (!run(program, ...args)) throw new Error(`${program} ${args.join(" ")} failed`);
}
