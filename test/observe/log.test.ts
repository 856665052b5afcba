import { expect, test } from "bun:test";

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
