/**
 * What the starter runs: it starts the programs it is asked for, a line of JSON each, and tells when they have begun and
 * ended. Their descriptors are opened by name, so that each program has them for itself.
 */
export const starterScript = `"use strict";
const { spawn } = require("node:child_process");
const { closeSync, constants, openSync } = require("node:fs");
const { exit, stdin, stdout } = require("node:process");
const running = new Map();
const tell = (message) => stdout.write(JSON.stringify(message) + "\\n");
const fail = (id, error) => tell({ id, error: String(error.message) });
function start({ id, file, args, descriptors, ...options }) {
  const opened = [];
  const open = ({ path, isInput }) => {
    opened.push(openSync(path, isInput ? constants.O_RDONLY : constants.O_WRONLY));
    return opened.at(-1);
  };
  try {
    const stdio = descriptors.map((place) => (place === null ? "ignore" : open(place)));
    const child = spawn(file, args, { ...options, stdio, detached: true });
    child.once("error", (error) => fail(id, error));
    if (child.pid === undefined) return;
    running.set(id, child);
    child.once("exit", (exitCode, signal) => {
      running.delete(id);
      tell({ id, exitCode, signal });
    });
    tell({ id, pid: child.pid });
  } catch (error) {
    fail(id, error);
  } finally {
    opened.forEach(closeSync);
  }
}
let text = "";
stdin.setEncoding("utf8");
stdin.on("data", (chunk) => {
  const lines = (text + chunk).split("\\n");
  text = lines.pop();
  for (const line of lines) {
    const { kill, ...request } = JSON.parse(line);
    if (kill === undefined) start(request);
    else running.get(kill)?.kill("SIGKILL");
  }
});
stdin.on("end", () => exit());`;
