import { expect, test } from "vitest";
import { planCommand, type CommandRequest } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";

const single: IdMap = {
  kind: "single",
  uids: [{ inside: 0, outside: 1000, count: 1 }],
  gids: [{ inside: 0, outside: 1000, count: 1 }],
};
const request: CommandRequest = {
  sandboxPid: 42,
  idMap: { ...single, kind: "private" },
  networkPid: null,
  prelude: "",
  nsenter: "/usr/bin/nsenter",
  command: ["printf", "%s", "$HOME"],
  env: { PATH: "/bin", LD_PRELOAD: "/evil.so", BASH_ENV: "/evil", PWD: "/here" },
  cwd: "/app",
  user: null,
};

test("variables that steer the tools on the way reach the command and nothing before it", () => {
  const { args, env } = planCommand(request);
  expect(env).toEqual({ PATH: "/bin" });
  expect(args.slice(-6)).toEqual(["LD_PRELOAD=/evil.so", "BASH_ENV=/evil", "PWD=/here", "printf", "%s", "$HOME"]);
});

test("no secret of a command is an argument that other users of the host could read", () => {
  const { args, env } = planCommand({ ...request, env: { API_KEY: "secret" } });
  expect(args.join(" ")).not.toContain("secret");
  expect(env).toEqual({ API_KEY: "secret" });
});

test("the network namespace is entered only when there is another one", () => {
  expect(planCommand(request).args.join(" ")).not.toContain("--net");
  expect(planCommand({ ...request, networkPid: 7 }).args).toContain("--net=/proc/7/ns/net");
});

test("a user is taken with the groups it has", () => {
  const words = planCommand({ ...request, user: { uid: 33, gid: 34, groups: [34, 4] } }).args.join(" ");
  expect(words).toContain("--reuid 33 --regid 34 --groups 34,4");
  expect(planCommand({ ...request, user: { uid: 33, gid: 34, groups: [] } }).args).toContain("--clear-groups");
});

test("with one id the caller's credentials are kept", () => {
  expect(planCommand({ ...request, idMap: single }).args).toContain("--preserve-credentials");
  expect(planCommand(request).args).not.toContain("--preserve-credentials");
});
