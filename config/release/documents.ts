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
  /** Units, proxies, containers, the Grafana dashboard and Prometheus rules. */
  readonly deploy: readonly ReleaseFile[];
  /** The documentation with its pictures. */
  readonly guides: readonly ReleaseFile[];
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
    examples: await copies("config", /^[^/]+\.toml$/),
    deploy: await copies("config", /^(deploy|grafana|prometheus)\//),
    guides: await copies("docs", /./),
    completions: {
      bash: `${completionScript("bash", completions)}\n`,
      zsh: `${completionScript("zsh", completions)}\n`,
      fish: `${completionScript("fish", completions)}\n`,
    },
  };
}

/** The files below a folder whose path from there matches. */
function copies(folder: string, wanted: RegExp): Promise<ReleaseFile[]> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.flatMap((entry) => (entry.isFile() ? [`${entry.parentPath}/${entry.name}`] : []));
  const chosen = paths.filter((path) => wanted.test(path.slice(folder.length + 1))).toSorted();
  return Promise.all(chosen.map((path) => copiedFile(path, path)));
}
