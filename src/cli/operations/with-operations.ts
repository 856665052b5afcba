import { version } from "../../../package.json";
import type { GatewayHello } from "../../base/system/command-socket.ts";
import { nameOfDatabase } from "../../store/open.ts";
import { isServed } from "../../store/open-content.ts";
import { StoreError } from "../../store/store.ts";
import { database, dataFolder } from "../data-place.ts";
import { remoteGateway } from "../gateways/remote.ts";
import type { DataOptions } from "../help.ts";
import { rejectUnusable } from "../open-store.ts";
import { servedPid } from "../serve/files-for-commands.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { type OperationCall, OperationClient, type Transport } from "./client.ts";
import { type ContentUse, type OpenedHere, OwnProcess } from "./own-process.ts";
import { greet, isUnserved, SocketTransport } from "./socket.ts";

export interface OperationUse {
  /** Creates the folder if it does not exist. */
  readonly create?: boolean;
  /** Prints where the change was made, because it may not be the intended place. */
  readonly writes?: boolean;
  /** Opens recorded content too. */
  readonly content?: ContentUse | undefined;
}

type SettledUse = Required<Pick<OperationUse, "create" | "writes">> & Pick<OperationUse, "content">;

/**
 * Calls operations where the data is: at the gateway that serves it, else in this process. Nothing bypasses a running
 * gateway.
 */
export async function withOperations<Result>(
  terminal: Terminal,
  options: DataOptions,
  { create = false, writes = create, content }: OperationUse,
  work: (client: OperationClient) => Promise<Result>,
): Promise<Result> {
  const client =
    remoteGateway(terminal, options) ?? (await openHere(terminal, options, { create, writes, content }));
  try {
    const result = await work(client);
    // In JSON it is a field of the result.
    if (writes && !options.json) terminal.note(terminal.noteStyle.dim(`  in ${client.name}`));
    return result;
  } catch (error) {
    throw client.gateway === null ? error : unlessOfOtherRelease(error, client.gateway);
  } finally {
    await client.close();
  }
}

/** The running gateway can be a different release, whose response lacks fields that this command expects. */
function unlessOfOtherRelease(error: unknown, gateway: GatewayHello): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new CommandError(
    `the running gateway (process ${gateway.pid}, release ${gateway.version}) responded with something that this sluice (${version}) does not know; restart it with the release of this command (${error.message})`,
  );
}

async function openHere(
  terminal: Terminal,
  options: DataOptions,
  { create, writes, content }: SettledUse,
): Promise<OperationClient> {
  const address = database(options, terminal);
  const dir = dataFolder(options, terminal);
  const reach = () => reached({ dir, address, options, terminal, create, writes, content });
  const first = await reach();
  const gateway = first instanceof SocketTransport ? first.gateway : null;
  const store = gateway?.store ?? (address && nameOfDatabase(address));
  const place = store === null ? { data_folder: dir } : { store };
  return new OperationClient(new Reaching(first, reach), terminal, place, gateway);
}

/** Calls operations that only a running gateway can perform, here or elsewhere. Null if none runs on the data. */
export async function runningGateway(
  terminal: Terminal,
  options: DataOptions,
): Promise<OperationClient | null> {
  const remote = remoteGateway(terminal, options);
  if (remote !== null) return remote;
  const address = database(options, terminal);
  const dir = dataFolder(options, terminal);
  const gateway = await greet(dir);
  if (gateway === null || (address !== null && gateway.store !== nameOfDatabase(address))) return null;
  const place = gateway.store === null ? { data_folder: dir } : { store: gateway.store };
  return new OperationClient(new SocketTransport(dir, gateway), terminal, place, gateway);
}

/** A gateway that stops between two calls has accepted the first only: the second is made where the data is then. */
class Reaching implements Transport {
  #current: Transport;
  readonly #reach: () => Promise<Transport>;

  constructor(first: Transport, reach: () => Promise<Transport>) {
    this.#current = first;
    this.#reach = reach;
  }

  async send(call: OperationCall, onNote: (text: string) => void): Promise<Response> {
    for (;;) {
      try {
        return await this.#current.send(call, onNote);
      } catch (error) {
        if (!isUnserved(error)) throw error;
        await this.#current.close();
        this.#current = await this.#reach();
      }
    }
  }

  close(): Promise<void> {
    return this.#current.close();
  }
}

type Sought = SettledUse & Omit<OpenedHere, "locks">;

/** How long to wait for a gateway to start or to end. */
const patienceMs = 15_000;
const lookAgainMs = 50;

async function reached(sought: Sought): Promise<Transport> {
  const { dir, address, writes } = sought;
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const gateway = await greet(dir);
    const isItsData = address === null || gateway?.store === nameOfDatabase(address);
    if (gateway !== null && isItsData) return new SocketTransport(dir, gateway);
    if (address !== null) return OwnProcess.open(sought);
    await rejectUnusable({ ...sought, cwd: sought.terminal.cwd });
    if (!(await isServed(dir))) {
      const opened = await OwnProcess.open({ ...sought, locks: writes }).catch(unlessInUse);
      if (opened !== null) return opened;
    }
    if (performance.now() > untilMs) throw new CommandError(lockedWithoutSocket(dir));
    await Bun.sleep(lookAgainMs);
  }
}

/** Null if another process was faster. */
function unlessInUse(error: unknown): null {
  if (error instanceof StoreError && error.reason === "in_use") return null;
  throw error;
}

function lockedWithoutSocket(dir: string): string {
  const pid = servedPid(dir);
  const holder = pid === null ? "another process" : `process ${pid}`;
  return `${holder} has locked the data folder ${dir} and accepts no commands; if it is a gateway of an older release, restart it with this one`;
}
