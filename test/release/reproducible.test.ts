import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { newFolder } from "../support/new-folder.ts";
import { builtExecutable, command, root } from "./made.ts";

test("the executable does not name the folder that it was built in", async () => {
  const executable = Buffer.from(await builtExecutable());
  expect(executable.includes(join(root, "node_modules"))).toBe(false);
});

/** Two whole builds take minutes, so they belong to the long runs. */
test.if(process.env["SLUICE_SOAK"] === "1")(
  "two releases of one commit are equal, byte for byte, and have what they should",
  async () => {
    const [one, other] = [1, 2].map(() => newFolder()) as [string, string];
    const name = `linux-${process.arch}`;
    const processor = process.arch === "x64" ? "amd64" : process.arch;
    for (const out of [one, other]) {
      const words = [process.execPath, "config/release/main.ts", "--only", name, "--quick", "--out", out];
      await command(words, { cwd: root, env: { HOME: process.env["HOME"] ?? "" } });
    }
    const files = readdirSync(one, { recursive: true, encoding: "utf8" }).toSorted();
    expect(files).toEqual(
      [
        "RELEASE_NOTES.md",
        "SHA256SUMS",
        "install.sh",
        "npm",
        `npm/sluice-${version}.tgz`,
        `npm/sluice-${name}-${version}.tgz`,
        `sluice-${version}-${name}.tar.xz`,
        "sluice.cdx.json",
        `sluice_${version}_${processor}.deb`,
      ].toSorted(),
    );
    for (const file of files.filter((each) => each !== "npm"))
      expect(readFileSync(join(one, file)).equals(readFileSync(join(other, file))), file).toBe(true);
    await command(["sha256sum", "--check", "--strict", "SHA256SUMS"], { cwd: one });
    for (const out of [one, other]) rmSync(out, { recursive: true });
  },
  1_200_000,
);
