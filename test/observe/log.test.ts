import { expect, test } from "bun:test";
import { closeSync, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";

/** Standard error is the log, so the lines are written by a process of their own. */
function linesAt(level: string, format: string): string {
  const script = `
    import { createLogs } from "./src/observe/log.ts";
    import { exchangeFacts } from "./test/observe/fixtures.ts";
    const logs = createLogs({ level: "${level}", format: "${format}" });
    logs.exchange(exchangeFacts({ requestId: "req_fine" }));
    logs.exchange(exchangeFacts({ requestId: "req_broken", errorCode: "internal_error", cause: "Error: a bug",
      callerRequestId: "mine", address: "203.0.113.7", failedAttempts: [{ deployment: "d" }] }));
    logs.close();`;
  const run = Bun.spawnSync([process.execPath, "-e", script], { stderr: "pipe", env: { NO_COLOR: "1" } });
  return run.stderr.toString();
}

test("a fault of the gateway is an alarm, and is logged with its cause where only alarms are", () => {
  const all = linesAt("info", "json")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(all).toMatchObject([
    { level: 30, request_id: "req_fine" },
    { level: 50, request_id: "req_broken", cause: "Error: a bug" },
  ]);
  for (const format of ["json", "pretty"]) {
    const alarms = linesAt("error", format);
    expect(alarms).toContain("req_broken");
    expect(alarms).toContain("Error: a bug");
    expect(alarms).not.toContain("req_fine");
    expect(linesAt("silent", format)).toBe("");
  }
});

test("the documentation explains every field of an exchange's line", async () => {
  const docs = await Bun.file("docs/reference/log.md").text();
  const broken = linesAt("info", "json").trimEnd().split("\n").at(-1) ?? "";
  const names = Object.keys(JSON.parse(broken));
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) expect(docs).toContain(`\`${name}\``);
});

test("the journal gets each line's level, and any other stream only the line", () => {
  const folder = newFolder();
  const written = (format: string, isJournal: boolean) => {
    const file = join(folder, "stderr");
    const stderr = openSync(file, "w");
    const { dev, ino } = fstatSync(stderr, { bigint: true });
    const script = `
      import { createLogs } from "./src/observe/log.ts";
      import { exchangeFacts } from "./test/observe/fixtures.ts";
      const logs = createLogs({ level: "debug", format: "${format}" });
      logs.log.debug("detail");
      logs.log.warn({ err: new Error("of two lines") }, "warned");
      logs.exchange(exchangeFacts({ requestId: "req_fine" }));
      logs.exchange(exchangeFacts({ requestId: "req_broken", errorCode: "internal_error" }));
      logs.log.fatal("stopped");
      logs.close();`;
    const env = { NO_COLOR: "1", JOURNAL_STREAM: isJournal ? `${dev}:${ino}` : `${dev}:1` };
    Bun.spawnSync([process.execPath, "-e", script], { stderr, env });
    closeSync(stderr);
    return readFileSync(file, "utf8").trimEnd().split("\n");
  };
  const lines = written("json", true);
  expect(lines.map((line) => line.slice(0, 3))).toEqual(["<7>", "<4>", "<6>", "<3>", "<2>"]);
  expect(lines.map((line) => JSON.parse(line.slice(3)).level)).toEqual([20, 40, 30, 50, 60]);
  const pretty = written("pretty", true);
  expect(pretty.length).toBeGreaterThan(5);
  expect(pretty.filter((line) => !/^<[2-7]>/.test(line))).toEqual([]);
  expect(pretty.find((line) => line.includes("req_broken"))).toStartWith("<3>");
  expect(pretty.find((line) => line.includes("req_fine"))).toStartWith("<6>");
  for (const format of ["json", "pretty"]) {
    const elsewhere = written(format, false);
    expect(elsewhere.length).toBeGreaterThanOrEqual(5);
    expect(elsewhere.filter((line) => line.startsWith("<"))).toEqual([]);
  }
  rmSync(folder, { recursive: true });
}, 30_000);
