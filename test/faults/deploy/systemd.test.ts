import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../../support/new-folder.ts";
import { startSluice } from "../../support/sluice.ts";
import { waitFor } from "../../support/wait.ts";

const unit = readFileSync(new URL("../../../config/deploy/sluice.service", import.meta.url), "utf8");
const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Receiver {
  readonly messages: string[];
  stop(): void;
}

async function receiveAt(path: string): Promise<Receiver> {
  const script = new URL("./notify-receiver.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, script, path], { stdout: "pipe", stderr: "inherit" });
  const messages: string[] = [];
  void (async () => {
    let text = "";
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) messages.push(JSON.parse(line));
    }
  })();
  await waitFor(() => messages.length > 0, "the receiver to listen");
  return { messages, stop: () => child.kill() };
}

test.each([
  ["a file", () => join(folder, "notify")],
  ["a name without a file", () => `@sluice-test-${process.pid}-${Date.now()}`],
])(
  "serve tells systemd by %s when it is ready, reloads and stops",
  async (_what, path) => {
    const socket = path();
    const receiver = await receiveAt(socket);
    const { messages } = receiver;
    await using sluice = await startSluice({ env: { NOTIFY_SOCKET: socket } });
    await waitFor(() => messages.length === 2, "the first message");
    expect(messages[1]).toBe(`READY=1\nSTATUS=listening on ${sluice.url}`);

    await sluice.reload("[server]\nheartbeat = 10\n");
    await waitFor(() => messages.length === 4, "a reload to be told");
    expect(messages[2]).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
    const uptimeUsec = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000_000;
    const toldUsec = Number(/USEC=(\d+)/.exec(messages[2] ?? "")?.[1]);
    expect(Math.abs(toldUsec - uptimeUsec)).toBeLessThan(60_000_000);
    expect(messages[3]).toStartWith("READY=1\n");

    expect(await sluice.stop()).toBe(0);
    await waitFor(() => messages.length === 5, "the stop to be told");
    expect(messages[4]).toStartWith("STOPPING=1\n");
    receiver.stop();
  },
  30_000,
);

test("a supervisor that nobody can reach does not keep serve from serving", async () => {
  for (const socket of ["/nowhere/at/all", "relative", "@", `/${"x".repeat(300)}`]) {
    await using sluice = await startSluice({ env: { NOTIFY_SOCKET: socket } });
    expect((await sluice.request("/healthz")).status).toBe(200);
  }
});

describe("the systemd unit", () => {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];

  test("waits for the program's own word, reloads by SIGHUP, and gives streams their time", () => {
    expect(value("Type")).toBe("notify");
    expect(value("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    // The longest `shutdown_grace` that the configuration allows, and what comes behind it.
    expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(305);
    expect(Number(value("LimitNOFILE"))).toBeGreaterThanOrEqual(65_536);
  });

  test("gives the program a user, a folder and nothing else", () => {
    for (const line of [
      "DynamicUser=yes",
      "StateDirectory=sluice",
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
    ]) {
      expect(unit.split("\n")).toContain(line);
    }
    expect(unit).toContain("Environment=SLUICE_DATA=/var/lib/sluice");
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
  });

  const analyze = Bun.which("systemd-analyze");
  test.skipIf(analyze === null)(
    analyze === null
      ? "SKIPPED: systemd-analyze is not installed, so systemd was not asked about the unit"
      : "is found sound by systemd itself, but for the executable that is not installed here",
    () => {
      const file = new URL("../../../config/deploy/sluice.service", import.meta.url).pathname;
      const { stderr } = Bun.spawnSync([analyze ?? "", "verify", "--man=no", file]);
      const complaints = stderr
        .toString()
        .split("\n")
        .filter((line) => line.includes("sluice.service") && !line.includes("/usr/local/bin/sluice"));
      expect(complaints).toEqual([]);
    },
  );
});
