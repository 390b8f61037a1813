import { expect, test } from "vitest";
import { giveReward, type Act } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";

const tasks = {
  one: {
    files: {
      "tests/test.sh": "python -m venv /tests/env; echo x > /tests/written.py; python /tests/test_conftest.py",
      "tests/data.json": "{}",
    },
  },
};

/** Runs a trial whose agent leaves a process, and whose tests end with these files in /tests. */
async function reasonsFor(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const execute: Act = ({ spawn }) => {
    spawn("server");
    return 0;
  };
  const script = {
    execute,
    test: (call: Parameters<Act>[0]) => {
      for (const [path, text] of Object.entries(files)) call.files.write(`/tests/${path}`, text);
      return giveReward("1\n")(call);
    },
  };
  const job = await runJobOnRig({ tasks, script, capabilities: { shell: true } });
  return job.trial(onlyTrial).untrusted;
}

const loaded = ["conftest.py", "pytest.ini", "setup.cfg", "pyproject.toml", "evil.pth", "json.pyc", "json.so"];

test.for([...loaded, "requests/__init__.py", "ten.py"])("an added %s marks the trial as untrusted", async (path) => {
  expect(await reasonsFor({ [path]: "x" })).toEqual([
    `something that the agent left running may have added to the tests: /tests/${path}`,
  ]);
});

test("a changed test marks the trial as untrusted", async () => {
  expect(await reasonsFor({ "data.json": "[]" })).toEqual([
    "something that the agent left running changed the tests: /tests/data.json",
  ]);
});

test("files that tests make for themselves are no reason for distrust", async () => {
  const files = {
    "report.xml": "",
    "written.py": "x",
    "__pycache__/test_one.py": "",
    ".pytest_cache/README.py": "",
    "node_modules/a/setup.py": "",
    "env/pyvenv.cfg": "",
    "env/lib/site.py": "",
  };
  expect(await reasonsFor(files)).toEqual([]);
});

test("a package that calls itself a virtual environment is still seen", async () => {
  const reasons = await reasonsFor({ "requests/pyvenv.cfg": "", "requests/__init__.py": "" });
  expect(reasons.join()).toContain("/tests/requests/__init__.py");
});
