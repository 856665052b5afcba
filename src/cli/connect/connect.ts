import type { ClientId } from "../../base/models/client-snippets.ts";
import { CommandError, Misuse, printJson, type Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import { claudeSettings } from "./claude-settings.ts";
import type { ClientFileFormat } from "./client-edit.ts";
import { type UndoneClientFile, undoClientFile, writeClientFile } from "./client-file.ts";
import { codexConfig } from "./codex-config.ts";
import {
  type ConnectOptions,
  type FoundConnection,
  findConnection,
  findIssuedConnection,
  gatewayUrl,
  readKey,
} from "./find-connection.ts";
import { clientSettings, settingsText } from "./settings-text.ts";

/** Clients whose own file can be changed. */
const clientFiles: Readonly<Partial<Record<ClientId, ClientFileFormat>>> = {
  "claude-code": claudeSettings,
  codex: codexConfig,
};

export async function printSettings(
  client: ClientId,
  options: ConnectOptions,
  terminal: Terminal,
): Promise<void> {
  const found = await find(client, options, terminal);
  if (found.isRejected) showWarnings([rejectedText(found)], terminal);
  printFound(client, found, options, terminal);
}

export function printFound(
  client: ClientId,
  found: FoundConnection,
  options: ConnectOptions,
  terminal: Terminal,
): void {
  const own = clientFiles[client]?.ownModels;
  const preferred = own && found.models?.find(({ id }) => own.test(id));
  const model = options.model ?? (preferred ?? found.models?.[0])?.id ?? "MODEL";
  const limits = found.models?.find(({ id }) => id === model)?.limits ?? null;
  const settings = clientSettings(client, { ...found, model, limits });
  if (options.json) printJson({ ...settings, key: found.key }, terminal);
  else terminal.print(settingsText(settings, terminal.style));
}

export async function writeSettings(
  client: ClientId,
  options: ConnectOptions,
  terminal: Terminal,
): Promise<void> {
  const format = formatOf(client, "--write");
  const found = await find(client, options, terminal);
  if (found.isRejected) throw new CommandError(rejectedText(found));
  await writeFound(client, format, found, options, terminal);
}

/** Writes a key that the gateway has just issued. */
export async function writeIssued(
  client: ClientId,
  { url, key }: { readonly url: string; readonly key: string },
  options: ConnectOptions,
  terminal: Terminal,
): Promise<void> {
  await writeFound(
    client,
    formatOf(client, "--for"),
    await findIssuedConnection(url, key),
    options,
    terminal,
  );
}

async function writeFound(
  client: ClientId,
  format: ClientFileFormat,
  found: FoundConnection,
  options: ConnectOptions,
  terminal: Terminal,
): Promise<void> {
  const { address, key, models } = found;
  const servesOwnModels = models === null || models.some(({ id }) => format.ownModels.test(id));
  const model = options.model ?? (servesOwnModels ? null : (models[0]?.id ?? null));
  const { file, backup, settings } = writeClientFile(format.path(terminal.env), format, {
    address,
    key,
    model,
  });
  const changed = settings.map(({ name }) => name);
  if (options.json) return printJson({ client, url: address, model, file, backup, changed }, terminal);
  const { style } = terminal;
  const backupNote = backup === null ? "The file is new." : `The file as it was: ${backup}`;
  terminal.print(
    [
      `${style.good("✓")} ${client} now uses ${address}${model === null ? "" : ` with ${model}`}`,
      `  Changed in ${file}:`,
      ...changed.map((name) => `    ${name}`),
      `  ${backupNote}`,
      `  ${style.dim(`Undo: sluice connect ${client} --undo`)}`,
    ].join("\n"),
  );
}

const undoneTexts: Readonly<Record<UndoneClientFile["result"], string>> = {
  restored: "is as it was before",
  deleted: "did not exist before, and was deleted",
  edited: "was edited since; the settings that sluice wrote were removed, the rest stays",
  "already gone": "no longer exists; the backup was deleted",
};

export async function undo(client: ClientId, options: ConnectOptions, terminal: Terminal): Promise<void> {
  const format = formatOf(client, "--undo");
  const { file, result } = undoClientFile(format.path(terminal.env), format);
  if (options.json) return printJson({ client, file, result: result.replace(" ", "_") }, terminal);
  terminal.print(`${terminal.style.good("✓")} ${file} ${undoneTexts[result]}`);
}

export function canWrite(client: ClientId): boolean {
  return clientFiles[client] !== undefined;
}

export function formatOf(client: ClientId, option: string): ClientFileFormat {
  const format = clientFiles[client];
  if (format !== undefined) return format;
  const supported = Object.keys(clientFiles).join(" and ");
  throw new Misuse(`${option} supports ${supported}; for ${client}, run \`sluice connect ${client}\``);
}

async function find(client: ClientId, options: ConnectOptions, terminal: Terminal): Promise<FoundConnection> {
  const url = gatewayUrl(options, terminal);
  const found = await findConnection(url, await readKey(options, client, terminal));
  if (found.models === null && !found.isRejected) showWarnings([`no gateway responds at ${url}`], terminal);
  return found;
}

function rejectedText({ address, key }: FoundConnection): string {
  return `the gateway at ${address} rejects the key ${key.slice(0, 12)}…; check the key, or create another`;
}
