import { version } from "../../package.json";
import { ReleaseFailure } from "./failure.ts";

/** The version's section of the changelog, and what each download weighs. */
export function releaseNotes(
  changelog: string,
  downloads: readonly { readonly name: string; readonly size: number }[],
): string {
  const [, section] = changelog.split(`\n## ${version}\n`);
  if (section === undefined) throw new ReleaseFailure(`CHANGELOG.md has no section \`## ${version}\``);
  const rows = downloads.map(({ name, size }) => `| \`${name}\` | ${(size / 1_000_000).toFixed(1)} MB |`);
  return `# Sluice ${version}

${(section.split("\n## ")[0] ?? "").trim()}

## Downloads

\`SHA256SUMS\` has the checksum of each: \`sha256sum --check --ignore-missing SHA256SUMS\`.

| File | Size |
|---|---|
${rows.join("\n")}
`;
}
