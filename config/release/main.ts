/**
 * Makes a release in `dist/release`: `bun run release`, or `--only linux-x64` for one system (without its rpm). It needs Bun, git and xz. What
 * cannot be made ends it with an error; nothing is left out silently.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { version } from "../../package.json";
import { archive } from "./archive.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import type { Build, Output } from "./build.ts";
import { currentCommit } from "./commit.ts";
import { compile } from "./compile.ts";
import { deb } from "./deb.ts";
import { readDependencies } from "./dependencies.ts";
import { readDocuments } from "./documents.ts";
import { ReleaseFailure } from "./failure.ts";
import { homebrewFormula } from "./homebrew.ts";
import { installScript } from "./install-script.ts";
import { npmPackage, npmPlatformPackage } from "./npm.ts";
import { releaseNotes } from "./release-notes.ts";
import { rpm } from "./rpm.ts";
import { executableName, type Target, targets } from "./targets.ts";

const usage = `usage: bun run release [--only TARGET] [--out dist/release] [--quick] [--address URL] [--repository URL]

TARGET is one of ${targets.map(({ name }) => name).join(", ")}.
--quick compresses little, for trials.
--address is where the files will be downloaded from, for install.sh and the Homebrew formula.
--repository is the page of the source, for the npm packages: npm refuses provenance without it.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      out: { type: "string", default: "dist/release" },
      quick: { type: "boolean", default: false },
      address: { type: "string", default: "" },
      repository: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return console.log(usage);
  const chosen = targets.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.length === 0) throw new ReleaseFailure(`--only ${values.only} is not a target\n${usage}`);
  const commit = currentCommit();
  if (commit === null)
    throw new ReleaseFailure("a release is built from a git checkout; this folder is not one");
  if (commit.id.endsWith("-dirty"))
    console.warn("The checkout has uncommitted changes; do not publish this.");

  const started = performance.now();
  rmSync(values.out, { recursive: true, force: true });
  mkdirSync(values.out, { recursive: true });
  const dependencies = readDependencies(process.cwd());
  const documents = await readDocuments(commit, dependencies);
  const written: { name: string; size: number; sha256: string }[] = [];
  const write = async ({ name, bytes }: Output) => {
    await Bun.write(join(values.out, name), bytes);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    written.push({ name, size: bytes.length, sha256 });
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(`  ${name}: ${(bytes.length / 1_000_000).toFixed(1)} MB (${seconds} s)`);
  };
  const encoder = new TextEncoder();
  const effort = values.quick ? "quick" : "best";

  const repository = values.repository ?? null;
  for (const [index, target] of chosen.entries()) {
    console.log(`\n[${index + 1}/${chosen.length}] ${target.name}: compiling, then packing`);
    const executable = await compiled(target, commit.id);
    const build: Build = { target, executable, documents, time: commit.time, effort };
    await write(await archive(build));
    const platformPackage = npmPlatformPackage(build, repository);
    if (platformPackage !== null) await write(platformPackage);
    if (target.packages === null) continue;
    await write(await deb(build, target.packages.deb));
    if (values.only === undefined) await write(await rpm(build, target.packages.rpm));
  }
  console.log("\nfor all systems:");
  await write(await npmPackage(documents, commit.time, repository));
  await write({
    name: "sluice.cdx.json",
    bytes: encoder.encode(billOfMaterials(version, commit, dependencies)),
  });
  await write({ name: "install.sh", bytes: encoder.encode(installScript(values.address)) });
  if (values.only === undefined && values.address !== "")
    await write({ name: "sluice.rb", bytes: encoder.encode(homebrewFormula(values.address, written)) });
  else console.log("  sluice.rb is skipped: the Homebrew formula needs all systems and --address");
  const changelog = new TextDecoder().decode(documents.changelog.bytes);
  await write({ name: "RELEASE_NOTES.md", bytes: encoder.encode(releaseNotes(changelog, written)) });
  const sums = written.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const lines = sums.map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  await Bun.write(join(values.out, "SHA256SUMS"), lines.join(""));
  console.log(`\n${written.length} files and SHA256SUMS are in ${values.out}`);
}

/** Kept beside the release, so that one can be run without unpacking an archive. */
async function compiled(target: Target, commit: string): Promise<Uint8Array> {
  const outfile = join("dist/executables", target.name, executableName(target));
  await compile({ outfile, target: target.bun, commit });
  return Bun.file(outfile).bytes();
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ReleaseFailure)) throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
