import { version } from "../../package.json";
import type { Build, Output } from "./build.ts";
import { below, type ReleaseFile, textFile } from "./files.ts";
import { tar } from "./tar.ts";
import { executableName, isWindows } from "./targets.ts";
import { xz } from "./xz.ts";
import { zip } from "./zip.ts";

/** The archive that people download: one folder with the program and what belongs to it. */
export async function archive(build: Build): Promise<Output> {
  const { target, executable, time, effort } = build;
  const { readme, license, changelog, thirdParty, manual, examples, deploy, guides, completions } =
    build.documents;
  const stem = `sluice-${version}-${target.name}`;
  const files: ReleaseFile[] = [
    { path: executableName(target), bytes: executable, isExecutable: true },
    readme,
    license,
    changelog,
    thirdParty,
    ...examples,
    ...deploy,
    ...guides,
    { ...manual, path: "man/sluice.1" },
    textFile("completions/sluice.bash", completions.bash),
    textFile("completions/_sluice", completions.zsh),
    textFile("completions/sluice.fish", completions.fish),
  ];
  const folder = below(stem, files);
  if (isWindows(target)) return { name: `${stem}.zip`, bytes: zip(folder, time) };
  return { name: `${stem}.tar.xz`, bytes: await xz(tar(folder, time), effort) };
}
