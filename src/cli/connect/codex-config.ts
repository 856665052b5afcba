import { homedir } from "node:os";
import { join } from "node:path";
import { isObject, type JsonObject } from "../../base/json.ts";
import { ConfigError } from "../../config/problems.ts";
import { parseToml } from "../../config/toml.ts";
import { tomlString } from "../../config/toml-text.ts";
import {
  type ClientConnection,
  type ClientFileFormat,
  digestOf,
  type EditedFile,
  UnreadableClientFile,
  type WrittenSetting,
} from "./client-edit.ts";

/** Codex's `config.toml`: a provider, and the line that makes it the default. */
export const codexConfig: ClientFileFormat = {
  path: (env) => join(env["CODEX_HOME"] || join(env["HOME"] || homedir(), ".codex"), "config.toml"),
  // From 0.160 to 0.169.
  defaultModels: ["gpt-6.1-sol"],
  modelIn: (text) => {
    const { model } = parse(text);
    return typeof model === "string" ? model : null;
  },
  write: writeConfig,
  remove: removeConfig,
};

const table = "model_providers.sluice";
const header = `[${table}]`;

function topLevelFor({ model }: ClientConnection): Readonly<Record<string, string>> {
  return { model_provider: "sluice", ...(model === null ? {} : { model }) };
}

type Provider = Readonly<Record<string, string | TokenCommand>>;

/** How Codex gets a token: it runs the command, and again after an interval or a 401. */
interface TokenCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeout_ms: number;
  readonly refresh_interval_ms: number;
}

/** Codex's `config.toml` for a machine that is signed in: Codex runs `sluice token`, and no key is in the file. */
export function codexWithToken(command: string, args: readonly string[]): ClientFileFormat {
  const auth = { command, args, timeout_ms: 30_000, refresh_interval_ms: 300_000 };
  return { ...codexConfig, write: (text, connection) => writeConfig(text, connection, { auth }) };
}

function providerFor({ address }: ClientConnection, credential: Provider): Provider {
  return { name: "Sluice", base_url: `${address}/v1`, wire_api: "responses", ...credential };
}

function tomlValue(value: string | TokenCommand): string {
  if (typeof value === "string") return tomlString(value);
  const { command, args, timeout_ms, refresh_interval_ms } = value;
  return `{ command = ${tomlString(command)}, args = [${args.map(tomlString).join(", ")}], timeout_ms = ${timeout_ms}, refresh_interval_ms = ${refresh_interval_ms} }`;
}

function parse(text: string): JsonObject {
  try {
    return parseToml(text, "config.toml");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [problem] = error.problems;
    throw new UnreadableClientFile(`it is not valid TOML (${problem?.path}: ${problem?.message})`);
  }
}

function writeConfig(
  content: string,
  connection: ClientConnection,
  credential: Provider = { experimental_bearer_token: connection.key },
): EditedFile {
  const parsed = parse(content);
  const settings: WrittenSetting[] = [];
  let lines = content.split("\n");
  for (const [name, value] of Object.entries(topLevelFor(connection)).toReversed()) {
    const index = topLevelLine(lines, name);
    const line = `${name} = ${tomlString(value)}${commentIn(lines[index])}`;
    settings.push({ name, digest: digestOf(line), before: index === -1 ? null : (lines[index] ?? null) });
    lines = index === -1 ? [line, ...lines] : lines.with(index, line);
  }
  const existing = tableRange(lines);
  const before = existing === null ? null : lines.slice(existing.start, existing.end);
  if (existing !== null) lines = lines.toSpliced(existing.start, existing.end - existing.start);
  const provider = providerFor(connection, credential);
  const block = Object.entries(provider).map(([name, value]) => `${name} = ${tomlValue(value)}`);
  settings.push({ name: table, digest: digestOf(header), before });
  for (const line of block) {
    const name = `${table}.${line.slice(0, line.indexOf(" "))}`;
    settings.push({ name, digest: digestOf(line), before: null });
  }
  const above = lines.join("\n").replace(/\n+$/, "");
  const text = `${[...(above === "" ? [] : [above, ""]), header, ...block].join("\n")}\n`;
  const providers = parsed["model_providers"];
  const expected = {
    ...parsed,
    ...topLevelFor(connection),
    model_providers: { ...(isObject(providers) ? providers : {}), sluice: provider },
  };
  if (!Bun.deepEquals(parse(text), expected)) {
    throw new UnreadableClientFile("its layout is not one that can be changed safely");
  }
  return { text, settings };
}

function removeConfig(content: string, settings: readonly WrittenSetting[]): string {
  let lines = content.split("\n");
  for (const { name, digest, before } of settings.filter(({ name }) => !name.startsWith(table))) {
    const index = topLevelLine(lines, name);
    if (index === -1 || digestOf(withoutLineEnd(lines[index])) !== digest) continue;
    lines = typeof before === "string" ? lines.with(index, before) : lines.toSpliced(index, 1);
  }
  lines = withoutTable(lines, settings);
  const text = lines.join("\n");
  parse(text);
  return text;
}

/** Removes our lines from the table, and the table's header if nothing else is left. */
function withoutTable(lines: readonly string[], settings: readonly WrittenSetting[]): string[] {
  const range = tableRange(lines);
  if (range === null) return [...lines];
  const ownDigests = new Set(settings.map(({ digest }) => digest));
  const remaining = lines
    .slice(range.start + 1, range.end)
    .filter((line) => !ownDigests.has(digestOf(withoutLineEnd(line))));
  const before = settings.find(({ name }) => name === table)?.before;
  const previousLines = Array.isArray(before) ? before.map(String) : [];
  const isEmpty = remaining.every((line) => line.trim() === "");
  const replacement = isEmpty
    ? [...previousLines, ...remaining]
    : [lines[range.start] ?? header, ...remaining];
  const result = lines.toSpliced(range.start, range.end - range.start, ...replacement);
  // The blank line that was added above the table.
  const isDoubled = isEmpty && previousLines.length === 0 && result[range.start - 1] === "";
  return isDoubled ? result.toSpliced(range.start - 1, 1) : result;
}

function withoutLineEnd(line: string | undefined): string {
  return line?.trim() ?? "";
}

/** The comment at the end of a line with a setting, with a blank before it; empty if there is none. */
function commentIn(line: string | undefined): string {
  const value = /^[^=]*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'#]*)\s*(#.*)$/.exec(withoutLineEnd(line));
  return value?.[1] === undefined ? "" : ` ${value[1]}`;
}

function isHeader(line: string): boolean {
  return /^\s*\[\[?[^[\],=]+\]\]?\s*(#.*)?$/.test(line);
}

/** The index of a setting above the first table; -1 if there is none. */
function topLevelLine(lines: readonly string[], name: string): number {
  const firstTable = lines.findIndex(isHeader);
  const top = firstTable === -1 ? lines : lines.slice(0, firstTable);
  const setting = new RegExp(`^\\s*${name}\\s*=`);
  return top.findIndex((line) => setting.test(line));
}

/** The lines of our table, from its header to the next one. */
function tableRange(lines: readonly string[]): { readonly start: number; readonly end: number } | null {
  const start = lines.findIndex((line) => isHeader(line) && withoutLineEnd(line).startsWith(header));
  if (start === -1) return null;
  const next = lines.findIndex((line, index) => index > start && isHeader(line));
  return { start, end: next === -1 ? lines.length : next };
}
