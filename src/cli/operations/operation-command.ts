import { Argument, type Command, Option } from "commander";
import { size } from "../../base/text/size.ts";
import { removed } from "../arguments.ts";
import { confirm, type YesOption } from "../confirm.ts";
import {
  type CommandMaker,
  type CsvOption,
  type DataOptions,
  type Example,
  newOperationCommand,
  type SluiceCommand,
  withCsv,
} from "../help.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { startProgress } from "../terminal/progress.ts";
import { CommandError, CommandFailed, printDone, printJson, type Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import { type OperationCall, type OperationClient, Unanswered } from "./client.ts";
import { type OperationUse, withOperations } from "./with-operations.ts";

/** A call of an operation from the command line. */
export interface EnteredCall<Given = object> {
  /** The typed values, by field name. */
  readonly given: Given;
  readonly options: DataOptions & CsvOption & YesOption;
  readonly client: OperationClient;
  readonly terminal: Terminal;
  /** When the command was entered: its times are relative to this. */
  readonly nowMs: number;
}

/** A flag has two options: itself and its opposite. */
type Typed<Values> = { readonly [Name in keyof Values]-?: Argument | Option | readonly Option[] };

/** How an operation of the admin API appears on the command line. A test compares it with the operation's own schemas. */
interface Entry<Fields, Extras> {
  readonly name: string;
  readonly summary: string;
  /** The method, and the path below the admin API. */
  readonly call: `${OperationCall["method"]} /${string}`;
  /** The arguments and options by the fields that they set, in the path, the query or the body. */
  readonly fields?: Typed<Fields>;
  /** Options that only the command uses. */
  readonly extras?: Typed<Extras>;
  readonly examples?: readonly Example[];
  /** The last paragraph of the help. */
  readonly note?: string;
  /** The query or body, if it differs from the fields. */
  input?(given: Fields & Extras, entered: Omit<EnteredCall, "given">): object | Promise<object>;
  /** Whether recorded content is opened too. */
  content?(given: Fields & Extras): OperationUse["content"];
  /** Throws if the fields do not go together. */
  check?(given: Fields & Extras): void;
}

export interface OperationEntry<Answer, Fields = object, Extras = object, Prepared = undefined>
  extends Entry<Fields, Extras> {
  /** Creates the data folder if it does not exist. */
  readonly creates?: true;
  /** It changes nothing, although it is a POST. */
  readonly reads?: true;
  /** The path below the admin API, if options change it. */
  path?(given: Fields & Extras): string;
  /** The question before a change that cannot be undone; null if there is none. */
  asks?(call: EnteredCall<Fields & Extras>): string | null | Promise<string | null>;
  /** How to find out whether the change happened, or to repeat it safely, if its response does not come. */
  unanswered?(given: Fields & Extras): string;
  /** Reads what the output needs before the operation: a secret that was issued must not wait for anything. */
  prepare?(call: EnteredCall<Fields & Extras>): Promise<Prepared>;
  /** Reads the whole response, if it is paged. */
  whole?(first: Answer, input: object, client: OperationClient): Promise<Answer>;
  /** The JSON output; by default the operation's response. */
  document?(answer: Answer, call: EnteredCall<Fields & Extras>, prepared?: Prepared): unknown;
  /** The CSV output, if there is one. */
  csv?(answer: Answer, call: EnteredCall<Fields & Extras>): string;
  /** Warnings about what was done, which precede it. */
  warns?(answer: Answer): readonly string[];
  /** One sentence that reports the result. */
  done?(answer: Answer, call: EnteredCall<Fields & Extras>): string;
  /** Whether the exit status is 1, although the operation was performed. */
  hasFailed?(answer: Answer): boolean;
  /** Prints a response that one sentence cannot summarize. */
  show?(answer: Answer, call: EnteredCall<Fields & Extras>, prepared?: Prepared): void | Promise<void>;
  /** Prints notes after the output. */
  after?(answer: Answer, call: EnteredCall<Fields & Extras>): void;
}

export interface ListEntry<Row, Fields = object, Extras = object> extends Entry<Fields, Extras> {
  readonly columns: readonly ListColumn<Row>[] | ColumnsOf<Row, Fields & Extras>;
  /** Printed instead of an empty table. */
  readonly nothing: string | ((call: EnteredCall<Fields & Extras>) => string);
  /** Maximum number of rows without `--limit`; default: all. */
  readonly limit?: number;
  /** Which rows are shown, and in which order. */
  rows?(all: readonly Row[], call: EnteredCall<Fields & Extras>): readonly Row[] | Promise<readonly Row[]>;
  /** Prints notes after the list. */
  after?(rows: readonly Row[], call: EnteredCall<Fields & Extras>, isTable: boolean): void;
}

export interface ExportEntry<Fields = object, Extras = object> extends Entry<Fields, Extras> {
  /** Prints notes after the export. */
  after?(
    written: { readonly bytes: number; readonly lines: number },
    call: EnteredCall<Fields & Extras>,
  ): void;
}

type ColumnsOf<Row, Given> = (
  rows: readonly Row[],
  call: EnteredCall<Given>,
) => readonly ListColumn<Row>[] | Promise<readonly ListColumn<Row>[]>;

/** A command that performs one operation, and shows its response. */
export function operation<
  Answer extends object,
  Fields extends object = object,
  Extras = object,
  Prepared = undefined,
>(entry: OperationEntry<Answer, Fields, Extras, Prepared>): CommandMaker {
  const { method, path } = callOf(entry);
  return (terminal) => {
    const command = newEntryCommand(entry);
    if (entry.csv !== undefined) withCsv(command);
    if (entry.asks !== undefined) command.option("--yes", "skip confirmation");
    const writes = method !== "GET" && entry.reads !== true;
    return finished(command, entry, (given, options) => {
      const use = { create: entry.creates === true, writes, content: entry.content?.(given) };
      return withOperations(terminal, options, use, async (client) => {
        const call = { given, options, client, terminal, nowMs: Date.now() };
        const question = await entry.asks?.(call);
        if (question != null) await confirm(question, options, terminal);
        const input = await inputOf(entry, path, call);
        const prepared = await entry.prepare?.(call);
        const performing = client.perform<Answer>(method, filled(entry.path?.(given) ?? path, given), input);
        const first = await advised(performing, entry.unanswered?.(given), terminal);
        const answer = (await entry.whole?.(first, input, client)) ?? first;
        showWarnings(entry.warns?.(answer) ?? [], terminal);
        if (options.json) printJson((await entry.document?.(answer, call, prepared)) ?? answer, terminal);
        else if (options.csv) terminal.print(entry.csv?.(answer, call) ?? "");
        else if (entry.done !== undefined) printDone(undefined, answer, entry.done(answer, call), terminal);
        else await entry.show?.(answer, call, prepared);
        entry.after?.(answer, call);
        if (entry.hasFailed?.(answer) === true) throw new CommandFailed();
      });
    });
  };
}

/** An operator who waits for a change and repeats it must not enter it twice. */
const adviceAfterMs = 10_000;

async function advised<Answer>(
  performing: Promise<Answer>,
  advice: string | undefined,
  terminal: Terminal,
): Promise<Answer> {
  if (advice === undefined) return performing;
  const timer = setTimeout(() => terminal.note(`still waiting for the response; ${advice}`), adviceAfterMs);
  try {
    return await performing;
  } catch (error) {
    throw error instanceof Unanswered ? new CommandError(`${error.why}; ${advice}`) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** A command that lists an operation's results, from all pages. */
export function list<Row extends object, Fields extends object = object, Extras = object>(
  entry: ListEntry<Row, Fields, Extras>,
): CommandMaker {
  const { path } = callOf(entry);
  return (terminal) =>
    finished(withCsv(newEntryCommand(entry)), entry, (given, options) =>
      withOperations(terminal, options, {}, async (client) => {
        const call = { given, options, client, terminal, nowMs: Date.now() };
        const { limit = entry.limit }: { limit?: number } = given;
        const all = await client.list<Row>(filled(path, given), await inputOf(entry, path, call), limit);
        const rows = (await entry.rows?.(all, call)) ?? all;
        const { columns, nothing } = entry;
        const shown = {
          rows,
          columns: typeof columns === "function" ? await columns(rows, call) : columns,
          nothing: typeof nothing === "function" ? nothing(call) : nothing,
        };
        const isTable = printList(shown, options, terminal);
        entry.after?.(rows, call, isTable);
      }),
    );
}

/** A command that writes what an operation streams to stdout. */
export function exported<Fields extends object = object, Extras = object>(
  entry: ExportEntry<Fields, Extras>,
): CommandMaker {
  const { path } = callOf(entry);
  return (terminal) =>
    finished(newEntryCommand(entry), entry, (given, options) =>
      withOperations(terminal, options, { content: entry.content?.(given) }, async (client) => {
        const call = { given, options, client, terminal, nowMs: Date.now() };
        const progress = startProgress(terminal);
        const decoder = new TextDecoder();
        const written = { bytes: 0, lines: 0 };
        for await (const chunk of client.stream(path, await inputOf(entry, path, call))) {
          await terminal.write(decoder.decode(chunk, { stream: true }));
          written.bytes += chunk.length;
          written.lines += chunk.filter((byte) => byte === newline).length;
          progress.show(`${size(written.bytes)} written`);
        }
        progress.end();
        entry.after?.(written, call);
      }),
    );
}

const newline = "\n".charCodeAt(0);

/** The response to a change, with the place where it was made. */
export function withPlace<Answer extends object>(answer: Answer, { client }: Pick<EnteredCall, "client">) {
  return { ...answer, ...client.place };
}

function newEntryCommand<Fields, Extras>(entry: Entry<Fields, Extras>): SluiceCommand {
  const command = newOperationCommand(entry.name, entry.summary);
  command.operation = { call: entry.call, fields: Object.keys(entry.fields ?? {}) };
  for (const each of Object.values(typedBy(entry)).flat()) {
    if (each instanceof Argument) command.addArgument(each);
    else command.addOption(each);
  }
  return command;
}

function typedBy<Fields, Extras>({ fields, extras }: Entry<Fields, Extras>) {
  const all: Readonly<Record<string, Argument | Option | readonly Option[]>> = { ...fields, ...extras };
  return all;
}

/** Adds what the help ends with, and what the command does. */
function finished<Fields, Extras>(
  command: SluiceCommand,
  entry: Entry<Fields, Extras>,
  perform: (given: Fields & Extras, options: DataOptions & CsvOption & YesOption) => Promise<void>,
): Command {
  const { examples, note } = entry;
  if (examples !== undefined) command.examples(...examples);
  if (note !== undefined) command.addHelpText("after", `\n${note}`);
  return command.action(() => {
    const options = command.opts<DataOptions>();
    const typed = new Map<string, unknown>(Object.entries(options));
    const words = [...command.processedArgs];
    const values = Object.entries(typedBy(entry)).map(([name, typer]) => {
      const [first] = [typer].flat();
      const value = first instanceof Option ? typed.get(first.attributeName()) : words.shift();
      return [name, value === removed ? null : value];
    });
    // Each parser makes the type that the entry says.
    const given = Object.fromEntries(values) as Fields & Extras;
    entry.check?.(given);
    return perform(given, options);
  });
}

function callOf({ call }: { readonly call: string }) {
  const [method = "", path = ""] = call.split(" ");
  // The entry's type says so.
  return { method: method as OperationCall["method"], path };
}

function filled(path: string, given: object): string {
  const values = new Map<string, unknown>(Object.entries(given));
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
}

/** The fields that are not path parameters. */
function inputOf<Fields, Extras>(
  entry: Entry<Fields, Extras>,
  path: string,
  { given, ...entered }: EnteredCall<Fields & Extras & object>,
): object | Promise<object> {
  if (entry.input !== undefined) return entry.input(given, entered);
  const inPath = new Set(path.split("/"));
  const names = Object.keys(entry.fields ?? {}).filter((name) => !inPath.has(`:${name}`));
  return Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));
}
