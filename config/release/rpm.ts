import { version } from "../../package.json";
import type { Build, Output } from "./build.ts";
import { type ReleaseFile, sortedByPath } from "./files.ts";
import { type HeaderValue, header, int16s, int32s, localized, region, text, texts } from "./rpm-header.ts";
import { afterInstall, afterRemove, beforeRemove, systemPackage } from "./system-package.ts";
import { xz } from "./xz.ts";

/**
 * An rpm, version 3 of the file format, which every rpm reads: a lead, a header with checksums, a header with everything
 * that rpm has to know, and the files as a compressed cpio archive. Written here because rpmbuild is not to be had
 * everywhere, strips what it packs, and makes other bytes on another machine.
 */
export async function rpm(build: Build, architecture: string): Promise<Output> {
  const { files, configurationFiles } = systemPackage(build, "site-functions");
  const sorted = sortedByPath(files);
  const archive = cpio(sorted, build.time);
  const payload = await xz(archive, build.effort);
  const about = header(region.immutable, [
    ...identity(architecture, build.time, sorted),
    ...scripts,
    ...listing(sorted, configurationFiles, build.time),
    ...relations,
    [1124, text("cpio")],
    [1125, text("xz")],
    [1126, text(build.effort === "best" ? "9" : "0")],
    [5092, texts([sha256(payload)])],
    [5093, int32s([digestAlgorithm])],
  ]);
  const checksums = header(region.signatures, [
    [273, text(sha256(about))],
    [1000, int32s([about.length + payload.length])],
    [1007, int32s([archive.length])],
  ]);
  const padding = Buffer.alloc(-checksums.length & 7);
  const name = `sluice-${version}.${architecture}.rpm`;
  return { name, bytes: Buffer.concat([lead(), checksums, padding, about, payload]) };
}

/** SHA-256. */
const digestAlgorithm = 8;

type Entries = readonly (readonly [tag: number, value: HeaderValue])[];

function identity(architecture: string, time: Date, files: readonly ReleaseFile[]): Entries {
  return [
    [100, texts(["C"])],
    [1000, text("sluice")],
    [1001, text(version)],
    [1002, text("1")],
    [1004, localized("Self-hosted LLM gateway with billing you can audit")],
    [
      1005,
      localized(
        "Every client of the OpenAI or the Anthropic API works with every provider,\nwith your own keys, budgets and rate limits. " +
          "Every charge is recorded\nexactly once.",
      ),
    ],
    [1006, int32s([seconds(time)])],
    [1007, text("localhost")],
    [1009, int32s([files.reduce((sum, { bytes }) => sum + bytes.length, 0)])],
    [1011, text("The Sluice authors")],
    [1014, text("Apache-2.0")],
    [1016, localized("System Environment/Daemons")],
    [1021, text("linux")],
    [1022, text(architecture)],
    [1044, text(`sluice-${version}-1.src.rpm`)],
  ];
}

/** rpm passes how many versions stay installed: 0 means a removal, and not an upgrade. */
const scripts: Entries = [
  [1024, text(afterInstall)],
  [1025, text(`if [ "$1" = 0 ]; then\n${beforeRemove}fi\n`)],
  [1026, text(afterRemove)],
  ...[1086, 1087, 1088].map((tag) => [tag, text("/bin/sh")] as const),
];

function listing(files: readonly ReleaseFile[], configurationFiles: readonly string[], time: Date): Entries {
  const folders = [...new Set(files.map(({ path }) => folderOf(path)))];
  const all = <Value>(value: Value) => files.map(() => value);
  const configuration = 0b10001; // %config(noreplace)
  return [
    [1028, int32s(files.map(({ bytes }) => bytes.length))],
    [1030, int16s(files.map(mode))],
    [1033, int16s(all(0))],
    [1034, int32s(all(seconds(time)))],
    [1035, texts(files.map(({ bytes }) => sha256(bytes)))],
    [1036, texts(all(""))],
    [1037, int32s(files.map(({ path }) => (configurationFiles.includes(path) ? configuration : 0)))],
    [1039, texts(all("root"))],
    [1040, texts(all("root"))],
    [1045, int32s(all(-1))],
    [1095, int32s(all(1))],
    [1096, int32s(files.map((_file, index) => index + 1))],
    [1097, texts(all(""))],
    [1116, int32s(files.map(({ path }) => folders.indexOf(folderOf(path))))],
    [1117, texts(files.map(({ path }) => path.slice(path.lastIndexOf("/") + 1)))],
    [1118, texts(folders)],
    [5011, int32s([digestAlgorithm])],
  ];
}

const atMost = 0b1010;
const exactly = 0b1000;
const byRpmItself = 1 << 24;
const needs = [
  { name: "/bin/sh", flags: 0, version: "" },
  { name: "/usr/sbin/useradd", flags: 0, version: "" },
  { name: "libc.so.6(GLIBC_2.17)(64bit)", flags: 0, version: "" },
  { name: "rpmlib(CompressedFileNames)", flags: atMost | byRpmItself, version: "3.0.4-1" },
  { name: "rpmlib(FileDigests)", flags: atMost | byRpmItself, version: "4.6.0-1" },
  { name: "rpmlib(PayloadFilesHavePrefix)", flags: atMost | byRpmItself, version: "4.0-1" },
  { name: "rpmlib(PayloadIsXz)", flags: atMost | byRpmItself, version: "5.2-1" },
];
const relations: Entries = [
  [1047, texts(["sluice"])],
  [1048, int32s(needs.map(({ flags }) => flags))],
  [1049, texts(needs.map(({ name }) => name))],
  [1050, texts(needs.map((need) => need.version))],
  [1112, int32s([exactly])],
  [1113, texts([`${version}-1`])],
];

/** Only its magic number is still read. */
function lead(): Uint8Array {
  const bytes = Buffer.alloc(96);
  bytes.set([0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1]);
  bytes.write(`sluice-${version}-1`, 10);
  bytes.writeUInt16BE(1, 76);
  bytes.writeUInt16BE(5, 78);
  return bytes;
}

function cpio(files: readonly ReleaseFile[], time: Date): Buffer<ArrayBuffer> {
  const entry = (path: string, fields: readonly number[], bytes: Uint8Array) => {
    const [inode = 0, fileMode = 0, links = 1] = fields;
    const mtime = inode === 0 ? 0 : seconds(time);
    const numbers = [inode, fileMode, 0, 0, links, mtime, bytes.length, 0, 0, 0, 0, path.length + 1, 0];
    const head = `070701${numbers.map((value) => value.toString(16).padStart(8, "0")).join("")}${path}\0`;
    return [Buffer.from(head), Buffer.alloc(-head.length & 3), bytes, Buffer.alloc(-bytes.length & 3)];
  };
  return Buffer.concat([
    ...files.flatMap((file, index) => entry(`./${file.path}`, [index + 1, mode(file)], file.bytes)),
    ...entry("TRAILER!!!", [], new Uint8Array()),
  ]);
}

function mode({ isExecutable }: ReleaseFile): number {
  return isExecutable ? 0o100755 : 0o100644;
}

function folderOf(path: string): string {
  return `/${path.slice(0, path.lastIndexOf("/") + 1)}`;
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
