import { expect, test } from "vitest";
import { findDaemonFailure } from "./daemon-failure.ts";

const find = (tail: string) => findDaemonFailure({ tail, withTail: (message) => message });
const gone = "/usr/bin/buildctl-daemonless.sh: 1: kill: No such process\n";
const began = "could not connect to unix:///run/buildkit/buildkitd.sock after 10 trials\n========== log ==========\n";

test.each([
  ["buildkitd: can't enable NoProcessSandbox without Rootless\nmain.main\n\tmain.go:488\n", "can't enable NoProcess"],
  [
    "[rootlesskit:parent] error: failed to setup UID/GID map: newuidmap: not permitted\n: exit status 1\n[rootlesskit:child ] error: EOF\n",
    "failed to setup UID/GID map",
  ],
])("a daemon that cannot start is a setting, told in its own words: %j", (log, words) => {
  const failure = find(began + log + gone);
  expect(failure).toMatchObject({ code: "config_invalid", transient: false });
  expect(failure?.message).toContain(`BuildKit cannot start in its Pod: ${words}`);
});

test("a daemon that is slow may be tried again", () => {
  const failure = find(`${began}time="2026-11-18T04:21:09Z" level=info msg="auto snapshotter: using overlayfs"\n`);
  expect(failure).toMatchObject({ code: "image_build_failed", transient: true });
});

test("a daemon that was killed is told as such", () => {
  const words =
    "error: failed to receive status: rpc error: code = Unavailable desc = error reading from server: EOF\n";
  expect(find(`#6 RUN make\n${words}`)).toMatchObject({ code: "image_build_failed", transient: false });
});

test("a step that fails is the Dockerfile's own", () => {
  expect(find('#6 ERROR\nerror: failed to solve: process "make" did not complete: exit code: 2\n')).toBeNull();
});
