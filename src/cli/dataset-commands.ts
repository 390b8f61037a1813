import { InvalidArgumentError, Option, type Command } from "commander";
import { itemFormats } from "../formats/source-entry.ts";
import type { CliContext } from "./cli-context.ts";
import { wholeNumber } from "./job-options.ts";

const storeOption = "--store <location>";
const storeMeaning = "a file or postgres://…; $ROLLOUT_STORE, else .rollout/rollout.db";
const nameMeaning = "the name or id of a dataset, or name@VERSION";

/** Adds what `rollout dataset` does to its command. */
export function addDatasetCommands(
  dataset: Command,
  examples: (lines: readonly string[]) => string,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  const add = (name: string, summary: string, lines: readonly string[]): Command =>
    dataset
      .command(name)
      .description(summary)
      .configureHelp({ sortOptions: false })
      .option(storeOption, storeMeaning)
      .option("--json", "as one JSON object")
      .addHelpText("after", examples(lines));
  const format = (): Option =>
    new Option("--format <format>", "when the name of the file does not tell it").choices(itemFormats);

  add("import", "make a version of a dataset out of a JSONL, JSON or CSV file", [
    "rollout dataset import questions.jsonl",
    "rollout dataset import more.csv --name questions --merge --note 'from support'",
    "rollout dataset import trivia.csv --input-columns question,context --expected-columns answer",
    "curl -s https://example.org/q.jsonl | rollout dataset import - --name questions --format jsonl",
  ])
    .argument("<file>", "the file, or - for stdin")
    .option("--name <name>", "the dataset, which is made when it is not there; the file's name without its ending")
    .option("--merge", "keep the items that the file does not have")
    .option("--note <text>", "what to remember about the version")
    .option("--input-columns <names>", "the fields that are the input; the others become metadata", names)
    .option("--expected-columns <names>", "the fields that are the expected output", names)
    .option("--id-column <name>", "the field that is the id")
    .option("--json-cells", "read every cell of a CSV that is JSON as JSON, numbers too")
    .addOption(format())
    .action(async (file: string, options) =>
      setExitCode(await (await import("./commands/dataset-import.ts")).importDatasetCommand(file, options, context)),
    );

  add("export", "write a version of a dataset as JSONL, JSON or CSV", [
    "rollout dataset export questions questions.csv",
    "rollout dataset export questions@3 > old.jsonl",
  ])
    .argument("<name>", nameMeaning)
    .argument("[file]", "where to; stdout without it")
    .addOption(format())
    .action(async (name: string, file: string | undefined, options) =>
      setExitCode(
        await (await import("./commands/dataset-export.ts")).exportDatasetCommand(name, file, options, context),
      ),
    );

  add("list", "the datasets of a store", [
    "rollout dataset list",
    "rollout dataset list --store results.db --json",
  ]).action(async (options) =>
    setExitCode(await (await import("./commands/dataset-list.ts")).listDatasetsCommand(options, context)),
  );

  add("show", "a dataset with its first items, or one item with its history", [
    "rollout dataset show questions",
    "rollout dataset show questions@2 --limit 50",
    "rollout dataset show questions --item q-17",
  ])
    .argument("<name>", nameMeaning)
    .option("--limit <n>", "so many items", wholeNumber, 10)
    .option("--item <id>", "this item in all its versions")
    .action(async (name: string, options) =>
      setExitCode(await (await import("./commands/dataset-show.ts")).showDatasetCommand(name, options, context)),
    );

  add("versions", "the versions of a dataset, newest first", ["rollout dataset versions questions"])
    .argument("<name>", "the name or id of a dataset")
    .action(async (name: string, options) =>
      setExitCode(await (await import("./commands/dataset-list.ts")).listVersionsCommand(name, options, context)),
    );

  add("diff", "what differs between two versions", [
    "rollout dataset diff questions          the newest and the one before",
    "rollout dataset diff questions 2 5",
  ])
    .argument("<name>", "the name or id of a dataset")
    .argument("[from]", "a version; the one before the other", version)
    .argument("[to]", "a version; the newest", version)
    .option("--limit <n>", "so many items", wholeNumber, 50)
    .action(async (name: string, from: number | undefined, to: number | undefined, options) =>
      setExitCode(
        await (await import("./commands/dataset-show.ts")).diffDatasetCommand(name, from, to, options, context),
      ),
    );

  add("create", "make a dataset without items", [
    "rollout dataset create questions --description 'what people ask'",
    "rollout dataset create questions --input-schema input.schema.json",
  ])
    .argument("<name>", "a name that is not taken")
    .option("--description <text>", "what it is")
    .option("--input-schema <file>", "JSON Schema that every input keeps to")
    .option("--expected-schema <file>", "JSON Schema that every expected output keeps to")
    .action(async (name: string, options) =>
      setExitCode(await (await import("./commands/dataset-import.ts")).createDatasetCommand(name, options, context)),
    );

  add("remove", "take a dataset away with all its versions", ["rollout dataset remove questions --yes"])
    .argument("<name>", "the name or id of a dataset")
    .option("--yes", "really")
    .action(async (name: string, options) =>
      setExitCode(await (await import("./commands/dataset-list.ts")).removeDatasetCommand(name, options, context)),
    );
}

function names(text: string): readonly string[] {
  return text.split(",").map((name) => name.trim());
}

function version(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("a version is a whole number.");
  return Number(text);
}
