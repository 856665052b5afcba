import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";
import { run, type Where } from "../support/process.ts";
import { Sluice } from "../support/sluice.ts";

const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function elsewhere(config = demo): Where {
  const cwd = newFolder();
  folders.push(cwd);
  writeFileSync(join(cwd, "sluice.toml"), config);
  return { cwd, env: { PATH: process.env["PATH"] ?? "", HOME: cwd } };
}

describe("a port that a gateway listens on", () => {
  const pairs = [
    ["127.0.0.1", "127.0.0.1"],
    ["0.0.0.0", "127.0.0.1"],
    ["127.0.0.1", "0.0.0.0"],
    ["127.0.0.1", "localhost"],
    ["localhost", "127.0.0.1"],
    ["127.0.0.1", "::"],
    ["::", "0.0.0.0"],
  ] as const;
  for (const [first, second] of pairs) {
    test(`on ${first} is refused to a second one on ${second}`, async () => {
      await using sluice = await Sluice.start({ config: demo, args: ["--host", first] });
      const { port } = new URL(sluice.url);
      const said = await run(["serve", "--host", second, "--port", port], elsewhere());
      expect(said.code).toBe(1);
      expect(said.stdout).not.toContain("listening on");
      const by = process.platform === "linux" ? ` by process ${sluice.pid} (${nameOf(sluice.pid)})` : "";
      expect(said.stderr).toBe(
        `error: port ${port} is in use on ${second}${by}; choose another with --port, or 0 for any free one\n`,
      );
    });
  }

  test("is free again at once for the next start", async () => {
    await using sluice = await Sluice.start({ config: demo });
    const { port } = new URL(sluice.url);
    expect((await sluice.request("/healthz")).status).toBe(200);
    await sluice.stop();
    await sluice.restart({ config: `[server]\nport = ${port}\n${demo}` });
    expect((await sluice.request("/healthz")).status).toBe(200);
  });

  test("is shared when both say so", async () => {
    const config = `[server]\nreuse_port = true\n${demo}`;
    await using first = await Sluice.start({ config });
    const { port } = new URL(first.url);
    await using second = await Sluice.start({ config, args: ["--port", port] });
    expect(second.url).toBe(first.url);
  });

  test("is not shared when only the second says so", async () => {
    await using first = await Sluice.start({ config: demo });
    const { port } = new URL(first.url);
    const said = await run(["serve", "--port", port], elsewhere(`[server]\nreuse_port = true\n${demo}`));
    expect(said.code).toBe(1);
    expect(said.stderr).toContain(`port ${port} is in use`);
  });
});

describe("the port of the metrics", () => {
  test("is refused to a second gateway, which then does not listen at all", async () => {
    const config = `[admin]\nmetrics_listen = "127.0.0.1:${freePort()}"\n${demo}`;
    await using first = await Sluice.start({ config });
    const said = await run(["serve", "--port", "0"], elsewhere(config));
    expect(first.output).toContain("listening on");
    expect(said.code).toBe(1);
    expect(said.stdout).not.toContain("listening on");
    expect(said.stderr).toMatch(
      /^error: port \d+ is in use on 127\.0\.0\.1(?: by process \d+ \(.+\))?; choose another with admin\.metrics_listen/,
    );
  });
});

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
}

describe("the port of the admin side", () => {
  test("that is taken ends the start, and leaves nothing listening", async () => {
    const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("mine") });
    const port = freePort();
    const config = `[admin]\nlisten = "127.0.0.1:${taken.port}"\n${demo}`;
    const said = await run(["serve", "--port", String(port)], elsewhere(config));
    expect(said.code).toBe(1);
    expect(said.stdout).not.toContain("listening on");
    expect(said.stderr).toStartWith(`error: port ${taken.port} is in use on 127.0.0.1`);
    expect(said.stderr).toEndWith("; choose another with admin.listen, or 0 for any free one\n");
    await taken.stop(true);
  });
});

describe("an address that is none", () => {
  for (const host of ["300.1.1.1", "203.0.113.7", "no-such-host.invalid"]) {
    test(`${host} is refused in words`, async () => {
      const said = await run(["serve", "--host", host, "--port", "0"], elsewhere());
      expect(said.code).toBe(1);
      expect(said.stderr).toBe(`error: ${host} is not an address of this machine; choose one with --host\n`);
    });
  }
});
