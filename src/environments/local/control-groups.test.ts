import { expect, test } from "vitest";
import { planGroupPlaces, planGroupSettings } from "./control-groups.ts";

const limits = { cpus: 1.5, memoryBytes: 1024, storageBytes: 1 };

test("with one hierarchy for each controller, groups lie below our own of each", () => {
  const mountinfo = [
    "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
    "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    "32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids",
    "33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
  ].join("\n");
  const places = planGroupPlaces(mountinfo, "4:memory:/user/ann\n3:pids:/\n2:cpu,cpuacct:/\n0::/\n");
  expect(places).toEqual({
    version: 1,
    memory: "/sys/fs/cgroup/memory/user/ann",
    cpu: "/sys/fs/cgroup/cpu,cpuacct",
    pids: "/sys/fs/cgroup/pids",
  });
  if (places === null) return;
  expect(planGroupSettings(places, "e1", limits)).toContainEqual([
    "/sys/fs/cgroup/memory/user/ann/e1/memory.limit_in_bytes",
    "1024",
  ]);
});

test("with one hierarchy for all, our own group is tried first and its parent next", () => {
  const mountinfo = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  const places = planGroupPlaces(mountinfo, "0::/system.slice/ssh.service\n");
  expect(places).toEqual({
    version: 2,
    parents: ["/sys/fs/cgroup/system.slice/ssh.service", "/sys/fs/cgroup/system.slice"],
  });
  expect(planGroupPlaces(mountinfo, "0::/\n")).toEqual({ version: 2, parents: ["/sys/fs/cgroup"] });
  if (places === null) return;
  expect(planGroupSettings(places, "e1", limits)).toContainEqual([
    "/sys/fs/cgroup/system.slice/ssh.service/e1/cpu.max",
    "150000 100000",
  ]);
});

test("without control groups there is no place", () => {
  expect(planGroupPlaces("22 1 8:1 / / rw - ext4 x rw\n", "")).toBeNull();
});
