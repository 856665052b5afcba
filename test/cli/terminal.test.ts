import { afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";
import { program, run } from "../support/process.ts";
import { waitFor } from "../support/wait.ts";

const folders: string[] = [];
const pids: number[] = [];

afterEach(async () => {
  for (const pid of pids.splice(0).filter(isAlive)) {
    process.kill(pid, "SIGKILL");
    await waitFor(() => !isAlive(pid), "the end of a gateway");
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A gateway in a session of its own, which has a terminal, with these words before the gateway's. */
async function startInTerminal(...before: readonly string[]) {
  const cwd = newFolder();
  folders.push(cwd);
  const env = { PATH: process.env["PATH"] ?? "", HOME: cwd };
  const terminal = new Bun.Terminal({ cols: 80, rows: 24, data() {} });
  const command = [...before, ...program(), "serve", "--port", "0"].map((word) => `'${word}'`).join(" ");
  const script = `echo $$ >pid; exec ${command} >log 2>&1`;
  Bun.spawn(["setsid", "--ctty", "bash", "-c", script], { cwd, env, terminal });
  const output = () => (existsSync(join(cwd, "log")) ? readFileSync(join(cwd, "log"), "utf8") : "");
  await waitFor(() => output().includes("listening on"), "the gateway to listen", 20_000);
  const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
  pids.push(pid);
  return { cwd, env, pid, terminal, output };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const reloads = (output: string) => output.split("the new configuration is running").length - 1;

test("closing the terminal ends the gateway that was started in it", async () => {
  const { pid, terminal, output } = await startInTerminal();
  terminal.close();
  await waitFor(() => !isAlive(pid), "the end", 20_000);
  expect(output()).toContain("stopping: draining requests");
  expect(reloads(output())).toBe(0);
});

test("a gateway in a terminal reloads on SIGHUP while the terminal is there", async () => {
  const { pid, output } = await startInTerminal();
  process.kill(pid, "SIGHUP");
  await waitFor(() => reloads(output()) === 1, "the reload", 10_000);
  expect(output()).not.toContain("stopping");
});

test("a gateway under nohup outlives its terminal, and reloads on SIGHUP", async () => {
  const { pid, terminal, output } = await startInTerminal("nohup");
  terminal.close();
  await waitFor(() => reloads(output()) === 1, "the reload", 10_000);
  process.kill(pid, "SIGHUP");
  await waitFor(() => reloads(output()) === 2, "the second reload", 10_000);
  expect(output()).not.toContain("stopping");
});

test("a second start says which process has the folder, and where it listens", async () => {
  const { pid, cwd, env, output } = await startInTerminal();
  const address = /^listening on (\S+)/m.exec(output())?.[1];
  const second = await run(["serve", "--port", "0"], { cwd, env });
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`in use by a running gateway (process ${pid}, ${address})`);
});
