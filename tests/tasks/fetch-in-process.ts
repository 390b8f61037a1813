import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import { fetchGitTrees } from "../../src/jobs/tasks/git/fetch-git-trees.ts";

const [cacheDir = "", url = "", commit = "", ...paths] = process.argv.slice(2);
const trees = await fetchGitTrees(
  paths.map((path) => ({ url, commit, path })),
  {
    host: { ...readHost(process), cacheDir },
    clock: systemClock,
    signal: new AbortController().signal,
    log: silentLog,
  },
);
console.log(JSON.stringify(trees));
if (process.env["STAY"]) setInterval(() => {}, 1_000);
