import { gzipSync } from "node:zlib";
import { description, license, version } from "../../package.json";
import type { Build, Output } from "./build.ts";
import type { Documents } from "./documents.ts";
import { below, copiedFile, type ReleaseFile, textFile } from "./files.ts";
import { tar } from "./tar.ts";
import { executableName, type Target, targets } from "./targets.ts";
import type { Effort } from "./xz.ts";

/**
 * npm installs of the optional dependencies the one that fits the machine, so that nothing has to be downloaded by a script
 * after the installation, which many do not allow.
 */
export async function npmPackage(
  documents: Documents,
  time: Date,
  repository: string | null,
): Promise<Output> {
  const platforms = targets.flatMap((target) =>
    target.npm === null ? [] : [[packageName(target), version] as const],
  );
  const manifest = {
    ...common(repository),
    name: "sluice",
    description,
    bin: { sluice: "bin/sluice.js" },
    optionalDependencies: Object.fromEntries(platforms),
  };
  const launcher = await copiedFile("bin/sluice.js", "config/release/npm-launcher.js");
  const files = [manifestFile(manifest), { ...launcher, isExecutable: true } as const, ...legal(documents)];
  return { name: `npm/sluice-${version}.tgz`, bytes: pack(files, time, "best") };
}

/** The executable for one system; null for one that npm cannot tell from another. */
export function npmPlatformPackage(build: Build, repository: string | null): Output | null {
  const { target, executable, documents, time, effort } = build;
  if (target.npm === null) return null;
  const { os, cpu, libc } = target.npm;
  const manifest = {
    ...common(repository),
    name: packageName(target),
    description: `The ${target.name} executable of Sluice.`,
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    // Yarn must not keep it zipped: it is run from where it is.
    preferUnplugged: true,
  };
  const program = { path: `bin/${executableName(target)}`, bytes: executable, isExecutable: true } as const;
  const files = [manifestFile(manifest), program, ...legal(documents)];
  return { name: `npm/sluice-${target.name}-${version}.tgz`, bytes: pack(files, time, effort) };
}

/** npm publishes with provenance only if the manifest names the repository that the workflow runs in. */
function common(repository: string | null) {
  const origin = repository === null ? {} : { repository: { type: "git", url: `git+${repository}.git` } };
  return { version, license, ...origin, engines: { node: ">=18" } };
}

/** `@sluice/win32-x64`: as Node names platforms. */
function packageName({ npm, name }: Target): string {
  return npm === null ? name : `@sluice/${npm.os}-${npm.cpu}${npm.libc === "musl" ? "-musl" : ""}`;
}

function manifestFile(manifest: object): ReleaseFile {
  return textFile("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
}

function legal({ readme, license, thirdParty }: Documents): ReleaseFile[] {
  return [readme, license, thirdParty];
}

/** npm reads gzip only. */
function pack(files: readonly ReleaseFile[], time: Date, effort: Effort): Uint8Array {
  return gzipSync(tar(below("package", files), time), { level: effort === "best" ? 9 : 1 });
}
