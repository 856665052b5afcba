import { afterAll, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { archive } from "../../config/release/archive.ts";
import { billOfMaterials } from "../../config/release/bill-of-materials.ts";
import { readDependencies } from "../../config/release/dependencies.ts";
import { homebrewFormula } from "../../config/release/homebrew.ts";
import { releaseNotes } from "../../config/release/release-notes.ts";
import { targets } from "../../config/release/targets.ts";
import { dependencies, version } from "../../package.json";
import { buildProgram } from "../../src/cli/program.ts";
import { processTerminal } from "../../src/cli/terminal/terminal.ts";
import { newFolder } from "../support/new-folder.ts";
import { attempt, command, commit, quickBuild, root, smallProgram } from "./made.ts";

const folder = newFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
process.chdir(root);

const build = await quickBuild(smallProgram);

/** What another program says of our files; without it nothing is known. */
function testWith(program: string, name: string, body: () => Promise<void>): void {
  const isMissing = Bun.which(program) === null;
  test.skipIf(isMissing)(isMissing ? `SKIPPED: ${program} is not installed` : `${program} ${name}`, body);
}

test("an archive unpacks to the program, its documents, completions, manual and units", async () => {
  const { name, bytes } = await archive(build);
  await Bun.write(join(folder, name), bytes);
  await command(["tar", "-xJf", name], { cwd: folder });
  const unpacked = join(folder, name.replace(".tar.xz", ""));
  expect(await command([join(unpacked, "sluice")], { cwd: folder })).toBe("a small program\n");
  for (const [copy, original] of [
    ["README.md", "README.md"],
    ["LICENSE", "LICENSE"],
    ["config/sluice.toml", "config/sluice.toml"],
    ["config/deploy/sluice.service", "config/deploy/sluice.service"],
    ["config/deploy/Dockerfile", "config/deploy/Dockerfile"],
    ["config/grafana/sluice.json", "config/grafana/sluice.json"],
    ["config/prometheus/alerts.yml", "config/prometheus/alerts.yml"],
    ["docs/README.md", "docs/README.md"],
  ] as const)
    expect(readFileSync(join(unpacked, copy), "utf8")).toBe(readFileSync(original, "utf8"));
  expect(readFileSync(join(unpacked, "completions/sluice.bash"), "utf8")).toContain("complete -o default");
  expect(statSync(join(unpacked, "sluice")).mtime).toEqual(commit.time);
});

test("the archive for Windows is a sound zip with the same files", async () => {
  const windows = targets.find(({ name }) => name === "windows-x64");
  if (windows === undefined) throw new Error("no target for Windows");
  const { name, bytes } = await archive({ ...build, target: windows });
  await Bun.write(join(folder, name), bytes);
  expect(await command(["unzip", "-t", name], { cwd: folder })).toContain("No errors detected");
  await command(["unzip", "-q", name], { cwd: folder });
  const program = readFileSync(join(folder, `sluice-${version}-windows-x64/sluice.exe`));
  expect(program.equals(smallProgram)).toBe(true);
});

test("two archives of one commit are equal, byte for byte", async () => {
  const [one, other] = [await archive(build), await archive(await quickBuild(smallProgram))];
  expect(Buffer.from(one.bytes).equals(other.bytes)).toBe(true);
});

const manual = new TextDecoder().decode(build.documents.manual.bytes);

test("the manual has every command and every option", () => {
  const plain = manual.replaceAll("\\-", "-");
  const visit = (command: ReturnType<typeof buildProgram>, path: string): void => {
    if (command.commands.length === 0) {
      const [, section = ""] = plain.split(`.SS "${path} `);
      expect(section, path).not.toBe("");
      for (const { flags } of command.options) expect(section.split(".SS ")[0]).toContain(`.B ${flags}\n`);
    }
    for (const each of command.commands) visit(each, `${path} ${each.name()}`);
  };
  visit(buildProgram(processTerminal()), "sluice");
});

testWith("groff", "understands every line of the manual", async () => {
  await Bun.write(join(folder, "sluice.1"), manual);
  const { code, output } = await attempt(["groff", "-man", "-ww", "-z", "sluice.1"], { cwd: folder });
  expect({ code, output }).toEqual({ code: 0, output: "" });
});

test("the bill of materials names every dependency with its licence, checksum and purl", () => {
  const bom = JSON.parse(billOfMaterials(version, commit, readDependencies(root)));
  expect(bom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.7" });
  const purls: string[] = bom.components.map((each: { purl: string }) => each.purl);
  for (const [name, wanted] of Object.entries(dependencies))
    expect(purls).toContain(`pkg:npm/${name.replace("@", "%40")}@${wanted}`);
  expect(purls).toContain(`pkg:generic/bun@${Bun.version}`);
  for (const each of bom.components.slice(1)) {
    expect(each.licenses[0].expression).toMatch(/\w/);
    expect(each.hashes[0].content).toMatch(/^[0-9a-f]{128}$/);
  }
  const known = new Set([`pkg:generic/sluice@${version}`, ...purls]);
  for (const { ref, dependsOn = [] } of bom.dependencies)
    for (const purl of [ref, ...dependsOn]) expect(known.has(purl), purl).toBe(true);
  expect(purls.some((purl) => purl.includes("/playwright-core@"))).toBe(false);
});

test("the notes are this version's section of the changelog, and what each download weighs", () => {
  const changelog = `# Changelog\n\n## 9.9.9\n\n- later\n\n## ${version}\n\n- this\n\n## 0.0.1\n\n- earlier\n`;
  const notes = releaseNotes(changelog, [{ name: "sluice.tar.xz", size: 24_500_000 }]);
  expect(notes).toContain("- this");
  expect(notes).not.toMatch(/later|earlier/);
  expect(notes).toContain("| `sluice.tar.xz` | 24.5 MB |");
  expect(() => releaseNotes("# Changelog\n", [])).toThrow(version);
});

const formulaFiles = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"].map((name, index) => ({
  name: `sluice-${version}-${name}.tar.xz`,
  sha256: String(index).repeat(64),
}));
const formulaOf = (files: typeof formulaFiles) => homebrewFormula("https://example.com/v1", files);

test("the Homebrew formula has the address and checksum of each archive", () => {
  const formula = formulaOf(formulaFiles);
  for (const { name, sha256 } of formulaFiles)
    expect(formula).toContain(`url "https://example.com/v1/${name}"\n      sha256 "${sha256}"\n`);
  expect(() => formulaOf(formulaFiles.slice(1))).toThrow("darwin-arm64");
});

testWith("ruby", "reads the Homebrew formula", async () => {
  await Bun.write(join(folder, "sluice.rb"), formulaOf(formulaFiles));
  expect(await command(["ruby", "-c", "sluice.rb"], { cwd: folder })).toContain("Syntax OK");
});
