import { writeSync } from "node:fs";
import pino, { type Logger } from "pino";
import pretty, { prettyFactory } from "pino-pretty";
import { totalInput } from "../base/usage/usage.ts";
import type { Settings } from "../config/settings.ts";
import type { ExchangeFacts } from "./exchange.ts";
import { isJournalStream, LineBuffer, priorityPrefix } from "./line-buffer.ts";

export type Log = Logger;

type LogSettings = Settings["log"];

export interface Logs {
  readonly log: Log;
  /** Writes the one line of a finished exchange, with all its fields. */
  exchange(facts: ExchangeFacts): void;
  /** Flushes the buffer. Later lines are written immediately. */
  close(): void;
  /** Changes level and format from the next line on, for existing loggers too. */
  configure(settings: LogSettings): void;
}

const flushEveryMs = 200;

/** Logs go to standard error, because standard output is for what a command prints. */
const standardError = 2;

/** Takes the logger's JSON lines, and writes them as JSON or in colours for a terminal. */
interface Sink {
  write(line: string): void;
  exchange(facts: ExchangeFacts, log: Log): void;
  /** Returns whether something is left to write. */
  flush(): boolean;
}

export function createLogs(settings: LogSettings): Logs {
  let sink = sinkFor(settings);
  let isClosed = false;
  /** Runs only while there are lines, so that an idle gateway does not wake up for them. */
  let flushing: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    flushing = null;
    if (sink.flush() && !isClosed) flushSoon();
  };
  const flushSoon = () => {
    flushing ??= setTimeout(flush, flushEveryMs);
    flushing.unref();
  };
  const write = (line: string) => {
    sink.write(line);
    if (isClosed) flush();
    else flushSoon();
  };
  const log = pino({ level: settings.level, base: null }, { write });
  process.on("exit", flush);
  return {
    log,
    exchange: (facts) => {
      if (!log.isLevelEnabled(levelOf(facts))) return;
      sink.exchange(facts, log);
      flushSoon();
    },
    close: () => {
      isClosed = true;
      if (flushing !== null) clearTimeout(flushing);
      flush();
      process.off("exit", flush);
    },
    configure: (next) => {
      sink.flush();
      sink = sinkFor(next);
      log.level = next.level;
    },
  };
}

function sinkFor({ format }: LogSettings): Sink {
  const usePretty = format === "pretty" || (format === "auto" && process.stderr.isTTY === true);
  return usePretty ? prettySink() : jsonSink();
}

function prettySink(): Sink {
  const options = { ignore: "pid,hostname", singleLine: true };
  if (!isJournalStream(standardError)) {
    const stream = pretty({ ...options, destination: standardError, sync: true });
    return prettySinkTo((line) => stream.write(line));
  }
  const format = prettyFactory({ ...options, colorize: false });
  return prettySinkTo((line) => {
    const text = String(format(line)).replace(/^(?=.)/gm, priorityPrefix(line));
    writeSync(standardError, text);
  });
}

function prettySinkTo(write: Sink["write"]): Sink {
  return {
    write,
    exchange: (facts, log) => log[levelOf(facts)](prettyFields(facts), exchangeTitle(facts)),
    flush: () => false,
  };
}

/** Exchange lines are formatted in batches, which is cheaper than one between two requests: the code stays cached. */
const exchangeBatch = 64;

/**
 * JSON lines are buffered. The line of an exchange is concatenated by hand, because pino's serialisers cost four times
 * as much, on every request.
 */
function jsonSink(): Sink {
  const buffer = new LineBuffer(standardError);
  const put = isJournalStream(standardError)
    ? (line: string) => buffer.write(priorityPrefix(line) + line)
    : (line: string) => buffer.write(line);
  const waiting: ExchangeFacts[] = [];
  const writeWaiting = () => {
    for (const facts of waiting) put(exchangeLine(facts));
    waiting.length = 0;
  };
  return {
    write: (line) => {
      writeWaiting();
      put(line);
    },
    exchange: (facts) => {
      waiting.push(facts);
      if (waiting.length >= exchangeBatch) writeWaiting();
    },
    flush: () => {
      writeWaiting();
      buffer.flush();
      return buffer.hasUnsent;
    },
  };
}

/** An internal error is logged as an alarm with its cause; the client only got the request id. */
function levelOf({ errorCode }: ExchangeFacts): "info" | "error" {
  return errorCode === "internal_error" ? "error" : "info";
}

function exchangeLine(facts: ExchangeFacts): string {
  const { usage } = facts;
  const level = levelOf(facts) === "error" ? 50 : 30;
  let line = `{"level":${level},"time":${facts.endedAtMs},"msg":"request","request_id":"${facts.requestId}","key":${keyText(facts.keyPrefix)},"route":"${facts.route}","model":${quote(facts.model)},"deployment":${quote(facts.deployment)},"stream":${facts.stream},"status":${facts.status},"outcome":"${facts.outcome}"`;
  if (facts.steppedDownFrom !== null) line += `,"stepped_down_from":${quote(facts.steppedDownFrom)}`;
  if (facts.address !== null) line += `,"address":${JSON.stringify(facts.address)}`;
  if (facts.errorCode !== null) line += `,"error":"${facts.errorCode}"`;
  if (facts.cause !== null) line += `,"cause":${JSON.stringify(facts.cause)}`;
  if (facts.callerRequestId !== null) line += `,"caller_request_id":${JSON.stringify(facts.callerRequestId)}`;
  if (usage !== null) {
    line += `,"input_tokens":${totalInput(usage)},"output_tokens":${usage.outputTokens},"charge":${facts.charged},"charge_unit":"${chargeUnit(facts)}","basis":"${facts.basis}"`;
  }
  if (facts.firstByteMs !== null) line += `,"first_byte_ms":${tenths(facts.firstByteMs)}`;
  if (facts.failedAttempts.length > 0) line += `,"failed_attempts":${failedAttempts(facts)}`;
  return `${line},"total_ms":${tenths(facts.totalMs)},"attempts":${facts.attempts}}\n`;
}

function chargeUnit({ mode }: ExchangeFacts): string {
  return mode === "token_budget" ? "tokens" : "nano_credits";
}

/** Leaves out the provider's message, which may quote the prompt. */
function failedAttempts(facts: ExchangeFacts): string {
  return JSON.stringify(
    facts.failedAttempts.map(({ deployment, failure, cause, durationMs, left }) => ({
      deployment,
      failure,
      ...(cause === null ? {} : { cause }),
      ms: Math.round(durationMs),
      next: left === "ended" ? null : left,
    })),
  );
}

/** A key's prefix has only letters, digits and `_`, so it needs no escaping. */
function keyText(prefix: string | null): string {
  return prefix === null ? "null" : `"${prefix}"`;
}

/** JSON strings of models and deployments. They come from the configuration, so the map stays small. */
const quoted = new Map<string, string>();

function quote(text: string | null): string {
  if (text === null) return "null";
  return quoted.getOrInsertComputed(text, JSON.stringify);
}

/** Formatting a whole number and a digit is faster than formatting the fraction. */
function tenths(milliseconds: number): string {
  const all = Math.round(milliseconds * 10);
  const digit = all % 10;
  return digit === 0 ? `${all / 10}` : `${(all - digit) / 10}.${digit}`;
}

function exchangeTitle(facts: ExchangeFacts): string {
  const what = facts.errorCode ?? facts.outcome;
  return `${facts.status} ${facts.method} ${facts.route} ${what} in ${tenths(facts.totalMs)} ms`;
}

function prettyFields(facts: ExchangeFacts): Record<string, unknown> {
  const { usage, failedAttempts: failed } = facts;
  const fields = {
    request: facts.requestId,
    key: facts.keyPrefix,
    address: facts.address,
    model: facts.model,
    stepped_down_from: facts.steppedDownFrom,
    deployment: facts.deployment,
    tokens: usage && `${totalInput(usage)}+${usage.outputTokens}`,
    charge: usage && `${facts.charged} ${chargeUnit(facts)}`,
    cause: facts.cause,
    failed: failed.map(({ deployment, failure }) => `${deployment} ${failure}`).join(", ") || null,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
