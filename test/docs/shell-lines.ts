import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../architecture/imports.ts";

export interface ShellLine {
  readonly page: string;
  readonly text: string;
}

const folder = join(projectRoot, "docs");
const pages = ["README.md", "SECURITY.md", "CONTRIBUTING.md"].concat(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
);

/** The lines of the documentation's shell blocks, without comments; what continues on the next line is one. */
export function shellLines(): ShellLine[] {
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
      block
        .replaceAll("\\\n", " ")
        .split("\n")
        .map((line) => ({ page, text: withoutComment(line) }))
        .filter(({ text }) => text !== ""),
    ),
  );
}

/** What prose names: `sluice keys show`. */
export function commandsInProse(): ShellLine[] {
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(/(?<!`)`(sluice [^`\n]+)`/g)].map(([, text = ""]) => ({ page, text })),
  );
}

/** Every example of `sluice.toml`. */
export function settingsBlocks(): ShellLine[] {
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```toml\n(.*?)^```/gms)].map(([, text = ""]) => ({ page, text })),
  );
}

/** Every block of code, of any language. */
export function codeBlocks(): ShellLine[] {
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```\w*\n(.*?)^```/gms)].map(([, text = ""]) => ({ page, text })),
  );
}

function textOf(page: string): string {
  return readFileSync(join(projectRoot, page), "utf8");
}

/** A `#` after a space begins a comment; the documentation has none within quotes. */
function withoutComment(line: string): string {
  return line.replace(/(?:^|\s+)#.*$/, "").trim();
}
