import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmPackage, npmPlatformPackage } from "../../config/release/npm.ts";
import { version } from "../../package.json";
import { newFolder } from "../support/new-folder.ts";
import { waitFor } from "../support/wait.ts";
import { attempt, builtExecutable, command, quickBuild, root } from "./made.ts";

/** A registry with what was packed and nothing else, so that what npm asks for and does not get is seen, too. */
const folder = newFolder();
const packed = new Map<string, { manifest: { version: string }; bytes: Uint8Array; integrity: string }>();
const registry = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const url = new URL(request.url);
    const path = decodeURIComponent(url.pathname.slice(1));
    const file = packed.get(path.replace(/\.tgz$/, ""));
    if (file === undefined) return Response.json({ error: "not found" }, { status: 404 });
    if (path.endsWith(".tgz")) return new Response(file.bytes);
    const { manifest, integrity } = file;
    const dist = { tarball: `${url.origin}/${encodeURIComponent(path)}.tgz`, integrity };
    const versions = { [manifest.version]: { ...manifest, dist } };
    return Response.json({ name: path, "dist-tags": { latest: manifest.version }, versions });
  },
});

beforeAll(async () => {
  process.chdir(root);
  const build = await quickBuild(await builtExecutable());
  const repository = "https://example.com/sluice/sluice";
  const main = await npmPackage(build.documents, build.time, repository);
  for (const output of [main, npmPlatformPackage(build, repository)]) {
    if (output === null) throw new Error("this machine has no npm package");
    const file = join(folder, output.name.replace("npm/", ""));
    writeFileSync(file, output.bytes);
    const manifest = JSON.parse(
      await command(["tar", "-xOzf", file, "package/package.json"], { cwd: folder }),
    );
    const digest = new Bun.CryptoHasher("sha512").update(output.bytes).digest("base64");
    packed.set(manifest.name, { manifest, bytes: output.bytes, integrity: `sha512-${digest}` });
  }
});

afterAll(async () => {
  await registry.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

test("each manifest names the repository, without which npm refuses provenance", () => {
  expect(packed.size).toBe(2);
  for (const { manifest } of packed.values())
    expect(manifest).toMatchObject({
      repository: { type: "git", url: "git+https://example.com/sluice/sluice.git" },
    });
});

const installers = [
  { name: "npm", install: ["npm", "install", "--no-audit", "--no-fund"], start: ["npx", "sluice"] },
  { name: "Bun", install: [process.execPath, "add"], start: [process.execPath, "x", "sluice"] },
] as const;

for (const { name, install, start } of installers) {
  const isMissing = Bun.which(install[0]) === null;
  describe.skipIf(isMissing)(isMissing ? `SKIPPED: ${name} is not installed` : `installed by ${name}`, () => {
    const place = join(folder, name);
    const env = {
      npm_config_registry: registry.url.href,
      BUN_CONFIG_REGISTRY: registry.url.href,
      BUN_INSTALL_CACHE_DIR: join(folder, "cache"),
    };

    test("the one package for this system comes with it, and no script runs", async () => {
      mkdirSync(place);
      writeFileSync(join(place, "package.json"), '{ "name": "somebody", "version": "1.0.0" }\n');
      await command([...install, "sluice"], { cwd: place, env });
      expect(readdirSync(join(place, "node_modules/@sluice"))).toEqual([`linux-${process.arch}`]);
      const manifest = JSON.parse(readFileSync(join(place, "node_modules/sluice/package.json"), "utf8"));
      expect(manifest.scripts).toBeUndefined();
    });

    test("`sluice serve` answers, and ends by the signal that its launcher is sent", async () => {
      const said = JSON.parse(await command([...start, "version", "--json"], { cwd: place, env }));
      expect(said).toMatchObject({ version, bun: Bun.version });
      const child = Bun.spawn(["node", "node_modules/.bin/sluice", "serve", "--port", "0"], {
        cwd: place,
        env: { PATH: process.env["PATH"] ?? "", HOME: place },
        stdout: "pipe",
        stderr: "pipe",
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        void stream.pipeTo(
          new WritableStream({
            write: (chunk) => {
              output += new TextDecoder().decode(chunk);
            },
          }),
        );
      try {
        const address = () => /listening on (http:\/\/[\d.:]+)/.exec(output)?.[1];
        await waitFor(() => address() !== undefined || child.exitCode !== null, "the server to listen");
        expect((await fetch(`${address()}/healthz`)).status).toBe(200);
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
      } finally {
        child.kill("SIGKILL");
      }
    });

    test("a misuse has the program's own exit status", async () => {
      const { code, output } = await attempt([...start, "no-such-command"], { cwd: place, env });
      expect(code).toBe(2);
      expect(output).toContain("unknown command");
    });

    test("without the optional package it says what is missing", async () => {
      rmSync(join(place, "node_modules/@sluice"), { recursive: true });
      const { code, output } = await attempt(["node", "node_modules/.bin/sluice"], { cwd: place, env });
      expect(code).toBe(1);
      expect(output).toContain(`@sluice/linux-${process.arch} is not installed`);
    });
  });
}
