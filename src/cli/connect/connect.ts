import type { ClientId } from "../../base/models/client-snippets.ts";
import { preferredModel } from "../../base/models/preferred-model.ts";
import { CommandError, Misuse, printJson, type Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import { isAffordable, unaffordableTexts } from "./affordable.ts";
import { claudeSettings } from "./claude-settings.ts";
import type { ClientFileFormat } from "./client-edit.ts";
import { modelInFile, type UndoneClientFile, undoClientFile, writeClientFile } from "./client-file.ts";
import { codexConfig } from "./codex-config.ts";
import {
  type ConnectOptions,
  type FoundConnection,
  findConnection,
  findIssuedConnection,
  gatewayUrl,
  readKey,
  servesModel,
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
  const model = options.model ?? preferredFor(client, found) ?? "MODEL";
  const offered = found.models?.find(({ id }) => id === model);
  const settings = clientSettings(client, { ...found, model, limits: offered?.limits ?? null });
  if (options.json) printJson({ ...settings, key: found.key }, terminal);
  else terminal.print(settingsText(settings, terminal.style));
  showWarnings(unaffordableTexts(offered, found.spendable), terminal);
  showRequested(client, found, terminal);
}

function preferredFor(client: ClientId, { models, spendable }: FoundConnection): string | undefined {
  return preferredModel(client, models ?? [], (model) => isAffordable(model, spendable))?.id;
}

/** What the client's release of today asks for in addition to the model of the settings. */
function showRequested(client: ClientId, { models }: FoundConnection, terminal: Terminal): void {
  const requested = clientFiles[client]?.defaultModels ?? [];
  if (requested.length === 0) return;
  const fact = `${client} requests ${requested.join(", ")} where no other model is set`;
  const missing = requested.filter((name) => models?.every(({ id }) => id !== name));
  const fix = `\`sluice connect ${client} --write\` sets one model for all of its requests`;
  if (missing.length === 0) terminal.note(terminal.noteStyle.dim(fact));
  else showWarnings([`${fact}, and this key cannot use ${missing.join(", ")}; ${fix}`], terminal);
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

export async function writeFound(
  client: ClientId,
  format: ClientFileFormat,
  found: FoundConnection,
  options: ConnectOptions,
  terminal: Terminal,
): Promise<void> {
  const { address, key } = found;
  const path = format.path(terminal.env);
  const { model, uses } = await modelFor(client, format, { found, path, options }, terminal);
  const { file, backup, settings } = writeClientFile(path, format, { address, key, model });
  const changed = settings.map(({ name }) => name);
  const isServed = found.models === null ? null : await checkModels(found, uses);
  if (isServed !== true) showWarnings([uncheckedText(found, uses)], terminal);
  const dear = found.models?.find((each) => uses.includes(each.id) && !isAffordable(each, found.spendable));
  showWarnings(unaffordableTexts(dear, found.spendable), terminal);
  if (options.json)
    return printJson(
      { client, url: address, model, uses, checked: isServed, file, backup, changed },
      terminal,
    );
  const { style } = terminal;
  const backupNote = backup === null ? "The file is new." : `The file as it was: ${backup}`;
  terminal.print(
    [
      `${isServed === true ? style.good("✓") : style.warn("!")} ${client} now uses ${address} with ${uses.join(", ")}`,
      `  Changed in ${file}:`,
      ...changed.map((name) => `    ${name}`),
      `  ${backupNote}`,
      `  ${style.dim(`Undo: sluice connect ${client} --undo`)}`,
    ].join("\n"),
  );
}

interface ModelChoice {
  /** The model to write; null if the client's own setting or default stays. */
  readonly model: string | null;
  /** The models that the client will request. */
  readonly uses: readonly string[];
}

/** The client's own model stays if the key can use it. */
async function modelFor(
  client: ClientId,
  format: ClientFileFormat,
  {
    found,
    path,
    options,
  }: { readonly found: FoundConnection; readonly path: string; readonly options: ConnectOptions },
  terminal: Terminal,
): Promise<ModelChoice> {
  const written = (model: string) => ({ model, uses: [model] });
  if (options.model !== undefined) return written(options.model);
  const own = modelInFile(path, format);
  const uses = own === null ? format.defaultModels : [own];
  const preferred = preferredFor(client, found);
  if (preferred === undefined || (await checkModels(found, uses)) === true) return { model: null, uses };
  if (own === null || (await isReplaced(own, preferred, found.address, terminal))) return written(preferred);
  return { model: null, uses };
}

/** Without a terminal the model is replaced: the client could not use the gateway otherwise, and `--undo` restores it. */
async function isReplaced(
  own: string,
  preferred: string,
  address: string,
  terminal: Terminal,
): Promise<boolean> {
  const fact = `the settings have the model "${own}", which ${address} does not serve for this key`;
  if (!terminal.interactive) {
    showWarnings([`${fact}; it is replaced by "${preferred}"`], terminal);
    return true;
  }
  const { noteStyle } = terminal;
  terminal.note(`${noteStyle.warn("!")} ${fact}`);
  const answer = await terminal.ask(`${noteStyle.warn("?")} Replace it with "${preferred}"? [Y/n] `);
  return !/^n(o)?$/i.test(answer.trim());
}

/** Asks the gateway for each model with the key. Null if it cannot be reached. */
async function checkModels(
  { address, key }: FoundConnection,
  models: readonly string[],
): Promise<boolean | null> {
  const served = await Promise.all(models.map((model) => servesModel(address, key, model)));
  return served.includes(null) ? null : served.every((isServed) => isServed === true);
}

function uncheckedText({ address, models }: FoundConnection, uses: readonly string[]): string {
  const shown = uses.map((model) => `"${model}"`).join(", ");
  return models === null
    ? `the gateway at ${address} did not respond, so it is not known whether it serves ${shown}`
    : `${address} does not serve ${shown} for this key; pass --model MODEL, and GET /v1/models lists them`;
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
