import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { archive } from "../../../config/release/archive.ts";
import { version } from "../../../package.json";
import { builtExecutable, command, quickBuild, root, smallProgram } from "../../release/made.ts";
import { newFolder } from "../../support/new-folder.ts";
import { run, serve } from "../../support/process.ts";
import { startSluice } from "../../support/sluice.ts";

/** No container engine is needed here: what the instructions say is done by hand. */
const lines = readFileSync(join(root, "config/deploy/Dockerfile"), "utf8")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"));

function all(instruction: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}

const canRun = process.platform === "linux" && process.getuid?.() === 0;
if (!canRun) console.log("SKIPPED: the image's root folder is assembled and entered by root, on Linux");

test.if(canRun)(
  "what its steps assemble serves as nobody on a read-only root, and keeps its data over a restart",
  async () => {
    process.chdir(root);
    using image = await assembledImage();
    const where = { cwd: image.folder, env: { PATH: process.env["PATH"] ?? "" } };
    const targetBefore = process.env["SLUICE_TEST_TARGET"] ?? "source";
    process.env["SLUICE_TEST_TARGET"] = image.program;
    try {
      const server = await serve([], where);
      expect(readFileSync(`/proc/${server.pid}/status`, "utf8")).toMatch(/^Uid:\s+65532\s+65532/m);
      const { port } = new URL(server.url);
      expect((await run(["keys", "create", "--mode", "credit"], where)).code).toBe(0);
      expect(await run(["health", "--port", port], where)).toMatchObject({ code: 0, stderr: "" });
      server.signal("SIGTERM");
      expect(await server.exited).toBe(0);
      const data = join(image.folder, "image/data");
      expect(readdirSync(data)).toContain("sluice.db");
      for (const name of [".", ...readdirSync(data)]) expect(statSync(join(data, name)).uid).toBe(65532);
      const again = await serve([], where);
      expect(JSON.parse((await run(["keys", "list", "--json"], where)).stdout)).toHaveLength(3);
      again.signal("SIGTERM");
      expect(await again.exited).toBe(0);
    } finally {
      process.env["SLUICE_TEST_TARGET"] = targetBefore;
    }
  },
  120_000,
);

test("the builder is sent the release's archives, and nothing else", () => {
  const sent = readFileSync(join(root, "config/deploy/Dockerfile.dockerignore"), "utf8").split("\n");
  const [pattern = ""] = sent.flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []));
  for (const archive of ["linux-x64", "linux-arm64"])
    expect(new Glob(pattern).match(addedArchive(archive))).toBe(true);
  expect(sent).toContain("*");
});

const hasBuildah = canRun && Bun.which("buildah") !== null;

test.skipIf(!hasBuildah)(
  hasBuildah ? "buildah builds it from the folder of one archive" : "SKIPPED: buildah is not installed",
  async () => {
    process.chdir(root);
    const folder = newFolder();
    const buildah = (...words: string[]) =>
      command(
        [
          "buildah",
          "--storage-driver",
          "vfs",
          "--root",
          join(folder, "images"),
          "--runroot",
          join(folder, "run"),
          ...words,
        ],
        {
          cwd: folder,
          env: { BUILDAH_ISOLATION: "chroot" },
        },
      );
    try {
      const { name, bytes } = await archive(await quickBuild(smallProgram));
      await Bun.write(join(folder, "release", name), bytes);
      await Bun.write(join(folder, "Systemfile"), "FROM scratch\nCOPY nothing /home/nonroot/\n");
      await Bun.write(join(folder, "system/nothing/.keep"), "");
      await buildah("build", "-q", "-f", "Systemfile", "-t", "localhost/system", "system");
      const file = join(root, "config/deploy/Dockerfile");
      const built = ["-q", "--format", "docker", "--build-arg", "SYSTEM=localhost/system", "-t", "sluice"];
      const processor = ["--build-arg", `ARCHIVE=linux-${process.arch}`];
      await buildah("build", ...built, ...processor, "-f", file, "release");
      const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", "sluice"));
      expect(Docker.config).toMatchObject({ User: "65532:65532", Entrypoint: ["/usr/local/bin/sluice"] });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  120_000,
);

/** What ADD unpacks for one system. */
function addedArchive(system: string): string {
  const [pattern = ""] = (all("ADD")[0] ?? "").split(" ");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how the Dockerfile names its argument.
  return pattern.replace("${ARCHIVE}", system).replace("*", version);
}

test("the image is nobody's, has no shell to need, runs no step, and stops by SIGTERM", () => {
  expect(all("ARG")[0]).toMatch(/^SYSTEM=.*distroless.*:nonroot$/);
  expect(all("RUN")).toEqual([]);
  expect(all("USER")).toEqual(["65532:65532"]);
  expect(all("STOPSIGNAL")).toEqual(["SIGTERM"]);
  for (const instruction of ["ENTRYPOINT", "CMD"]) expect(all(instruction)[0]).toStartWith("[");
  expect(all("HEALTHCHECK")[0]).toContain('CMD ["');
});

test("its commands and its environment are the program's", async () => {
  expect(Object.keys(environment()).sort()).toEqual(["SLUICE_DATA", "SLUICE_HOST", "SLUICE_PORT"]);
  await using sluice = await startSluice();
  const { port } = new URL(sluice.url);
  const command = JSON.parse(/CMD (\[.*\])/.exec(all("HEALTHCHECK")[0] ?? "")?.[1] ?? "[]").slice(1);
  expect((await sluice.run(...command, "--port", port)).code).toBe(0);
  await sluice.stop();
  expect((await sluice.run(...command, "--port", port)).code).toBe(1);
});

function environment(): Record<string, string> {
  const pairs = all("ENV").flatMap((line) => line.trim().split(/\s+/));
  return Object.fromEntries(pairs.map((pair) => pair.split("=")));
}

/** Does what ADD and COPY say in a folder, on this machine's glibc, and gives a program that enters it as the image is entered. */
async function assembledImage() {
  const folder = newFolder();
  const { name, bytes } = await archive(await quickBuild(smallProgram));
  await Bun.write(join(folder, name), bytes);
  const shell = (script: string) => command(["sh", "-ec", script], { cwd: folder });
  expect(addedArchive(`linux-${process.arch}`)).toBe(name);
  const executable = await builtExecutable();
  const libraries = await command(["ldd", join(root, "dist/sluice")], { cwd: folder });
  await shell(`mkdir -p archive system/home/nonroot system/proc
    tar -xJf ${name} -C archive/
    cp -L --parents ${libraries.match(/\/\S+/g)?.join(" ")} system
    cp -R system image`);
  for (const line of all("COPY")) {
    const words = line.split(" ");
    const from = /--from=(\w+)/.exec(line)?.[1] ?? "";
    const owner = /--chown=(\S+)/.exec(line)?.[1] ?? "0:0";
    const paths = words.filter((word) => !word.startsWith("--"));
    const into = `image${paths.pop()}`;
    const sources = paths.map((path) => `${from}${path}`).join(" ");
    // As a builder does: into a folder whose name ends with a slash, else the folder's contents under the new name.
    await shell(`mkdir -p $(dirname ${into}x); cp -R ${sources} ${into}; chown -R ${owner} ${into}`);
  }
  const [entry] = JSON.parse(all("ENTRYPOINT")[0] ?? "[]");
  // The archive had a small program in this place: compressing the real one takes longer than all the rest.
  expect(readFileSync(join(folder, "image", entry)).equals(smallProgram)).toBe(true);
  writeFileSync(join(folder, "image", entry), executable);
  const variables = Object.entries(environment()).map(([key, value]) => `${key}=${value}`);
  const program = join(folder, "run");
  writeFileSync(
    program,
    `#!/bin/sh
exec unshare --mount sh -ec 'cd ${folder}; mount --bind image image; mount -o remount,bind,ro image
  mount --bind image${all("VOLUME")[0]} image${all("VOLUME")[0]}; mount -o remount,bind,rw image${all("VOLUME")[0]}
  mount --bind /proc image/proc
  exec env ${variables.join(" ")} chroot --userspec=${all("USER")[0]} image ${entry} "$@"' sh "$@"
`,
    { mode: 0o755 },
  );
  return { folder, program, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
