import { expect, test } from "vitest";
import { outsideId, planIdMap, type IdMapFacts } from "./id-map.ts";

const facts: IdMapFacts = {
  uid: 1000,
  gid: 100,
  hasHelpers: true,
  ownUids: "         0          0 4294967295\n",
  passwd: "root:x:0:0::/root:/bin/sh\nann:x:1000:100::/home/ann:/bin/sh\n",
  subuid: "bob:100000:65536\nann:165536:65536\n",
  subgid: "ann:265536:65536\n",
};

test("root of an environment is never root outside", () => {
  const { kind, uids, gids } = planIdMap({ ...facts, uid: 0, gid: 0 });
  expect(kind).toBe("private");
  for (const range of [...uids, ...gids]) expect(range.outside).toBeGreaterThan(1_000_000);
});

test("root of a container has some of the container's ids, or its own when that is the only one", () => {
  const asRoot = { ...facts, uid: 0, gid: 0 };
  const range = { inside: 0, outside: 1, count: 65_535 };
  expect(planIdMap({ ...asRoot, ownUids: "0 1000 1\n1 100000 65535\n" })).toEqual({
    kind: "private",
    uids: [range],
    gids: [range],
  });
  expect(planIdMap({ ...asRoot, ownUids: "0 0 1\n" }).kind).toBe("single");
});

test("an ordinary user is root inside and has the subordinate ids beside", () => {
  expect(planIdMap(facts)).toEqual({
    kind: "subordinate",
    uids: [
      { inside: 0, outside: 1000, count: 1 },
      { inside: 1, outside: 165_536, count: 65_535 },
    ],
    gids: [
      { inside: 0, outside: 100, count: 1 },
      { inside: 1, outside: 265_536, count: 65_535 },
    ],
  });
});

test("without the helpers or a range there is one id", () => {
  const single = {
    kind: "single",
    uids: [{ inside: 0, outside: 1000, count: 1 }],
    gids: [{ inside: 0, outside: 100, count: 1 }],
  };
  expect(planIdMap({ ...facts, hasHelpers: false })).toEqual(single);
  expect(planIdMap({ ...facts, subgid: "" })).toEqual(single);
});

test("an id that is not mapped becomes root's", () => {
  const { uids } = planIdMap(facts);
  expect([0, 1, 1000, 70_000].map((id) => outsideId(uids, id))).toEqual([1000, 165_536, 166_535, 1000]);
});
