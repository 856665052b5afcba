import { readdirSync } from "node:fs";
import { version } from "../../package.json";
import { describe } from "../../src/cli/completion/describe.ts";
import { completionScript } from "../../src/cli/completion/scripts.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { processTerminal } from "../../src/cli/terminal/terminal.ts";
import type { Commit } from "./commit.ts";
import type { Dependency } from "./dependencies.ts";
import { copiedFile, type ReleaseFile, textFile } from "./files.ts";
import { manPage } from "./man-page.ts";
import { thirdPartyLicenses } from "./third-party-licenses.ts";

/** What comes with an executable, the same for every system. */
export interface Documents {
  readonly readme: ReleaseFile;
  readonly license: ReleaseFile;
  readonly changelog: ReleaseFile;
  readonly thirdParty: ReleaseFile;
  readonly manual: ReleaseFile;
  /** Configurations to begin from. */
  readonly examples: readonly ReleaseFile[];
  /** Units, proxies and containers. */
  readonly deploy: readonly ReleaseFile[];
  readonly completions: { readonly bash: string; readonly zsh: string; readonly fish: string };
}

export async function readDocuments(commit: Commit, dependencies: readonly Dependency[]): Promise<Documents> {
  const program = buildProgram(processTerminal());
  const completions = describe(program);
  return {
    readme: await copiedFile("README.md", "README.md"),
    license: await copiedFile("LICENSE", "LICENSE"),
    changelog: await copiedFile("CHANGELOG.md", "CHANGELOG.md"),
    thirdParty: textFile("THIRD-PARTY-LICENSES.txt", thirdPartyLicenses(dependencies)),
    manual: textFile("sluice.1", manPage(program, version, commit.time)),
    examples: await copies("config", (name) => name.endsWith(".toml")),
    deploy: await copies("config/deploy", (name) => !name.startsWith("Dockerfile")),
    completions: {
      bash: `${completionScript("bash", completions)}\n`,
      zsh: `${completionScript("zsh", completions)}\n`,
      fish: `${completionScript("fish", completions)}\n`,
    },
  };
}

function copies(folder: string, isWanted: (name: string) => boolean): Promise<ReleaseFile[]> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Promise.all(
    names.flatMap(({ name }) =>
      isWanted(name) ? [copiedFile(`${folder}/${name}`, `${folder}/${name}`)] : [],
    ),
  );
}
