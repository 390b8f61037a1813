import { expect, test } from "vitest";
import { defaultPath } from "../local-image.ts";
import { planReplay } from "./plan-replay.ts";

const plan = (text: string) => planReplay(text, { TARGETARCH: "amd64" });

test("instructions become steps with what was set before them", () => {
  const { problems, from, steps, env, workdir, user } = plan(
    [
      "ARG TAG=22.04",
      "FROM ubuntu:${TAG} AS base",
      "ARG NAME=world",
      "ARG TARGETARCH",
      'ENV GREETING="hello $NAME" PATH=/opt/bin:$PATH',
      "WORKDIR /srv",
      "WORKDIR app",
      "RUN echo $GREETING",
      'SHELL ["/bin/bash", "-ec"]',
      "USER app:staff",
      "RUN echo second",
      'RUN ["echo", "two words"]',
      'CMD ["sleep"]',
    ].join("\n"),
  );
  expect({ problems, from, workdir, user }).toEqual({
    problems: [],
    from: "ubuntu:22.04",
    workdir: "/srv/app",
    user: "app:staff",
  });
  expect(env).toEqual({ GREETING: "hello world", PATH: `/opt/bin:${defaultPath}` });
  expect(
    steps.map((step) => (step.kind === "run" ? step.command : step.kind === "directory" ? step.path : "")),
  ).toEqual([
    "/srv",
    "/srv/app",
    ["/bin/sh", "-c", "echo $GREETING"],
    ["/bin/bash", "-ec", "echo second"],
    ["echo", "two words"],
  ]);
  expect(steps[2]).toMatchObject({ env: { NAME: "world", TARGETARCH: "amd64" }, cwd: "/srv/app", user: "", line: 8 });
  expect(steps[3]).toMatchObject({ user: "app:staff" });
});

test("continued lines lose their comments and empty lines", () => {
  const { steps } = plan("FROM x\nRUN a && \\\n  # a comment \\\n\n    b \\\n  && c\n");
  expect(steps[0]).toMatchObject({ command: ["/bin/sh", "-c", "a &&     b   && c"] });
});

test("copies know their sources, target, owner and mode", () => {
  const { steps } = plan(
    'FROM x\nWORKDIR /w\nCOPY --chown=app:1 --chmod=0755 a b* lib/\nCOPY ["with space", "/x y"]\nADD one.tar.gz .\n',
  );
  expect(steps.slice(1)).toMatchObject([
    { sources: ["a", "b*"], target: "/w/lib", isDirectory: true, chown: "app:1", chmod: 0o755, unpacks: false },
    { sources: ["with space"], target: "/x y", isDirectory: false, chown: null, chmod: null },
    { sources: ["one.tar.gz"], target: "/w", isDirectory: true, unpacks: true },
  ]);
});

test("what cannot be replayed is refused by name and line", () => {
  const { problems } = plan(
    [
      "FROM golang AS build",
      "RUN --mount=type=cache,target=/x make",
      "RUN <<EOF",
      "echo hi",
      "EOF",
      "ADD https://example.com/x /x",
      "BOGUS x",
      "FROM scratch",
      "COPY --from=build /x /x",
    ].join("\n"),
  );
  expect(problems).toEqual([
    "Dockerfile line 2: RUN --mount is not supported",
    "Dockerfile line 3: RUN with a here-document is not supported",
    "Dockerfile line 6: ADD of something remote is not supported (https://example.com/x)",
    "Dockerfile line 7: the instruction BOGUS is not known",
    "Dockerfile line 8: several stages are not supported (a second FROM)",
    "Dockerfile line 9: COPY --from is not supported",
  ]);
});

test("a file without FROM is refused", () => {
  expect(plan("RUN true\n").problems).toEqual(["Dockerfile line 1: RUN before FROM", "Dockerfile: there is no FROM"]);
});
