import { version } from "../../package.json";
import type { Build, Output } from "./build.ts";
import { type ReleaseFile, textFile } from "./files.ts";
import { afterInstall, afterRemove, beforeRemove, systemPackage } from "./system-package.ts";
import { tar } from "./tar.ts";
import { xz } from "./xz.ts";

/** A Debian package: an `ar` archive of the format's version, what dpkg has to know, and the files. */
export async function deb(build: Build, architecture: string): Promise<Output> {
  const { time, effort } = build;
  const { files, configurationFiles } = systemPackage(build, "vendor-completions");
  const about: ReleaseFile[] = [
    textFile("control", control(architecture, files)),
    textFile("conffiles", configurationFiles.map((path) => `/${path}\n`).join("")),
    textFile("md5sums", files.map(({ path, bytes }) => `${md5(bytes)}  ${path}\n`).join("")),
    script("postinst", `if [ "$1" = configure ]; then\n${afterInstall}fi\n`),
    script("prerm", `if [ "$1" = remove ]; then\n${beforeRemove}fi\n`),
    script(
      "postrm",
      `${afterRemove}if [ "$1" = purge ]; then\n  rm -f "\${DPKG_ROOT:-}/etc/sluice/secrets.env"\nfi\n`,
    ),
  ];
  const members = [
    ["debian-binary", new TextEncoder().encode("2.0\n")],
    ["control.tar.xz", await xz(tar(about, time, "./"), effort)],
    ["data.tar.xz", await xz(tar(files, time, "./"), effort)],
  ] as const;
  const parts = members.flatMap(([name, bytes]) => [
    arHeader(name, bytes.length, time),
    bytes,
    padding(bytes),
  ]);
  const name = `sluice_${version}_${architecture}.deb`;
  return { name, bytes: Buffer.concat([Buffer.from("!<arch>\n"), ...parts]) };
}

function control(architecture: string, files: readonly ReleaseFile[]): string {
  const kibibytes = Math.ceil(files.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1024);
  return `Package: sluice
Version: ${version}
Architecture: ${architecture}
Maintainer: The Sluice maintainers <maintainers@sluice.invalid>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.17), passwd
Recommends: ca-certificates
Suggests: postgresql
Section: net
Priority: optional
Description: self-hosted LLM gateway with billing you can audit
 Every client of the OpenAI or the Anthropic API works with every provider,
 with your own keys, budgets and rate limits. Every charge is recorded
 exactly once.
`;
}

function script(path: string, body: string): ReleaseFile {
  return { ...textFile(path, `#!/bin/sh\nset -e\n${body}`), isExecutable: true };
}

function md5(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("md5").update(bytes).digest("hex");
}

function arHeader(name: string, size: number, time: Date): Uint8Array {
  const seconds = String(Math.floor(time.getTime() / 1000));
  const fields = [name.padEnd(16), seconds.padEnd(12), "0".padEnd(6), "0".padEnd(6), "100644".padEnd(8)];
  return Buffer.from(`${fields.join("")}${String(size).padEnd(10)}\`\n`);
}

/** Members begin at even places. */
function padding(bytes: Uint8Array): Uint8Array {
  return Buffer.from("\n".repeat(bytes.length % 2));
}
