import { expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { archive } from "../../../config/release/archive.ts";
import { attempt, quickBuild, root, smallProgram } from "../../release/made.ts";
import { startSluice } from "../../support/sluice.ts";

/** No image is built here: its steps are run by hand, and what the Dockerfile refers to is held against what is there. */
const lines = readFileSync(join(root, "config/deploy/Dockerfile"), "utf8")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"));

function all(instruction: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}

test("its steps unpack the release's archive for the platform, and refuse a damaged one", async () => {
  const release = mkdtempSync(join(tmpdir(), "sluice-image-"));
  process.chdir(root);
  const made = await archive(await quickBuild(smallProgram));
  const sum = new Bun.CryptoHasher("sha256").update(made.bytes).digest("hex");
  await Bun.write(join(release, made.name), made.bytes);
  await Bun.write(join(release, "SHA256SUMS"), `${sum}  ${made.name}\n`);
  const [verify = "", unpack = ""] = all("RUN").slice(1);
  const env = { TARGETARCH: process.arch === "x64" ? "amd64" : process.arch };
  const steps = (...lines: string[]) =>
    attempt(["sh", "-ec", lines.join("\n").replaceAll(/ \/(unpacked|data)/g, " ./$1")], {
      cwd: release,
      env,
    });
  expect(await steps(verify, unpack)).toMatchObject({ code: 0 });
  for (const line of all("COPY").filter((each) => each.includes("--from=unpack")))
    for (const source of line.split(/\s+/).filter((word) => /^\/(?:unpacked|data)/.test(word)))
      if (!line.endsWith(` ${source}`) || source === "/data")
        expect(existsSync(join(release, source)), source).toBe(true);
  appendFileSync(join(release, made.name), "damage");
  expect((await steps(verify)).code).not.toBe(0);
  rmSync(release, { recursive: true });
});

test("the builder is sent what is copied from the release, and nothing else", () => {
  const [copied = ""] = all("COPY").filter((line) => !line.includes("--from="));
  const sent = readFileSync(join(root, "config/deploy/Dockerfile.dockerignore"), "utf8").split("\n");
  expect(copied.split(" ").slice(0, -1)).toEqual(
    sent.flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : [])),
  );
});

test("the final image runs as nobody, has no shell to need, and stops by SIGTERM", () => {
  expect(all("FROM").at(-1)).toMatch(/distroless.*:nonroot$/);
  expect(all("USER")).toEqual(["65532:65532"]);
  expect(all("STOPSIGNAL")).toEqual(["SIGTERM"]);
  for (const instruction of ["ENTRYPOINT", "CMD"]) expect(all(instruction)[0]).toStartWith("[");
  expect(all("HEALTHCHECK")[0]).toContain('CMD ["');
});

test("its commands and its environment are the program's", async () => {
  const environment = Object.fromEntries(
    all("ENV")
      .flatMap((line) => line.trim().split(/\s+/))
      .map((pair) => pair.split("=")),
  );
  expect(Object.keys(environment).sort()).toEqual(["SLUICE_DATA", "SLUICE_HOST", "SLUICE_PORT"]);
  await using sluice = await startSluice();
  const { port } = new URL(sluice.url);
  const command = JSON.parse(/CMD (\[.*\])/.exec(all("HEALTHCHECK")[0] ?? "")?.[1] ?? "[]").slice(1);
  expect((await sluice.cli(...command, "--port", port)).code).toBe(0);
  await sluice.stop();
  expect((await sluice.cli(...command, "--port", port)).code).toBe(1);
});
