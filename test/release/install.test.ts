import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { archive } from "../../config/release/archive.ts";
import { installScript } from "../../config/release/install-script.ts";
import { newFolder } from "../support/new-folder.ts";
import { attempt, quickBuild, root, smallProgram } from "./made.ts";

/** The release's address, on this machine. */
const folder = newFolder();
const served = new Map<string, Uint8Array | string>();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    const file = served.get(new URL(request.url).pathname.slice(1));
    return file === undefined ? new Response("not found", { status: 404 }) : new Response(file);
  },
});
const script = join(folder, "install.sh");
let name = "";
let sums = "";
let home = "";

beforeAll(async () => {
  process.chdir(root);
  const made = await archive(await quickBuild(smallProgram));
  name = made.name;
  sums = `${new Bun.CryptoHasher("sha256").update(made.bytes).digest("hex")}  ${name}\n`;
  served.set(name, made.bytes);
  await Bun.write(script, installScript(server.url.href.replace(/\/$/, "")));
});
beforeEach(() => {
  home = newFolder();
  served.set("SHA256SUMS", sums);
});
afterAll(async () => {
  await server.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

const install = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  attempt(["sh", script, ...args], { cwd: home, env });

test("it finds the archive for this system, and installs program, manual and completions", async () => {
  const { code, output } = await install(["--prefix", join(home, "local")]);
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringContaining("installed: a small program"),
  });
  expect(statSync(join(home, "local/bin/sluice")).mode & 0o777).toBe(0o755);
  expect(readFileSync(join(home, "local/share/man/man1/sluice.1"), "utf8")).toStartWith(".TH SLUICE 1");
  expect(existsSync(join(home, "local/share/bash-completion/completions/sluice"))).toBe(true);
  expect(existsSync(join(home, "local/share/zsh/site-functions/_sluice"))).toBe(true);
});

test("an archive with another checksum is refused, and what was installed stays", async () => {
  mkdirSync(join(home, "bin"));
  await Bun.write(join(home, "bin/sluice"), "the one before");
  served.set(
    "SHA256SUMS",
    sums.replace(/^\w/, (digit) => (digit === "0" ? "1" : "0")),
  );
  const { code, output } = await install(["--prefix", home]);
  expect(code).toBe(1);
  expect(output).toContain("Nothing was installed");
  expect(readFileSync(join(home, "bin/sluice"), "utf8")).toBe("the one before");
});

test.each([
  [["--target", "linux-sparc"], "the release has no sluice-"],
  [["--from", `${server.url.href}nowhere`], "could not be downloaded"],
  [["--prefix"], "--prefix needs a value"],
  [["--frobnicate"], "unknown option --frobnicate"],
])("%j is refused in words", async (args, words) => {
  const { code, output } = await install(args);
  expect(code).toBe(1);
  expect(output).toContain(words);
});

test("--help lists every option, and installs nothing", async () => {
  const { code, output } = await install(["--help"]);
  expect(code).toBe(0);
  for (const option of ["--prefix", "--from", "--target", "--systemd"]) expect(output).toContain(option);
  expect(existsSync(join(home, ".local"))).toBe(false);
});

test("a script that was released without an address asks for one", async () => {
  await Bun.write(join(home, "install.sh"), installScript(""));
  const { code, output } = await attempt(["sh", "install.sh"], { cwd: home });
  expect(code).toBe(1);
  expect(output).toContain("SLUICE_RELEASE_URL");
});

test.if(process.getuid?.() === 0)(
  "with --systemd it writes a unit and a configuration, and keeps the one that is there",
  async () => {
    const env = { SLUICE_INSTALL_ROOT: home };
    expect((await install(["--systemd"], env)).code).toBe(0);
    const unit = readFileSync(join(home, "etc/systemd/system/sluice.service"), "utf8");
    expect(unit).toContain("\nExecStart=/usr/local/bin/sluice serve\n");
    expect(statSync(join(home, "etc/sluice/secrets.env")).mode & 0o777).toBe(0o600);
    appendFileSync(join(home, "etc/sluice/sluice.toml"), "# mine\n");
    expect((await install(["--systemd"], env)).code).toBe(0);
    expect(readFileSync(join(home, "etc/sluice/sluice.toml"), "utf8")).toEndWith("# mine\n");
  },
);
