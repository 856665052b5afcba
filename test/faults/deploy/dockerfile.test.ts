import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startSluice } from "../../support/sluice.ts";

/** No image is built here; what the Dockerfile refers to is held against what is there. */
const root = new URL("../../..", import.meta.url).pathname;
const lines = readFileSync(join(root, "config/deploy/Dockerfile"), "utf8")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"));

function all(instruction: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}

test("everything that is copied from the checkout is there", () => {
  const copied = all("COPY").filter((line) => !line.includes("--from="));
  expect(copied.length).toBeGreaterThan(2);
  for (const line of copied) {
    for (const source of line.split(/\s+/).slice(0, -1))
      expect(existsSync(join(root, source)), source).toBe(true);
  }
});

test("it is built with the pinned Bun, by scripts that exist", () => {
  const { packageManager, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(all("FROM")[0]).toBe(`oven/${packageManager.replace("@", ":")} AS build`);
  for (const script of all("RUN").flatMap((line) => /^bun run (\w+)/.exec(line)?.slice(1) ?? [])) {
    expect(Object.keys(scripts)).toContain(script);
  }
  const built = readFileSync(join(root, "build.ts"), "utf8");
  expect(built).toContain('"dist/sluice"');
  expect(all("COPY").join("\n")).toContain("--from=build /build/dist/sluice /usr/local/bin/sluice");
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
