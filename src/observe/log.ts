import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import { totalInput } from "../base/usage.ts";
import type { ExchangeFacts } from "./exchange.ts";
import { LineBlocks } from "./line-blocks.ts";

export type Log = Logger;

export interface LogSettings {
  readonly level: string;
  readonly format: "auto" | "json" | "pretty";
}

export interface Logs {
  readonly log: Log;
  /** The one wide line of an exchange. */
  exchange(facts: ExchangeFacts): void;
  flush(): void;
  /** Another level or format, from the next line on; loggers that were handed out follow. */
  configure(settings: LogSettings): void;
}

const flushEveryMs = 200;

/** Logs go to standard error, so that standard output stays for what people and programs were promised there. */
const standardError = 2;

/** Where lines go. Both take the logger's lines of JSON. */
interface Sink {
  write(line: string): void;
  exchange(facts: ExchangeFacts, log: Log): void;
  flush(): void;
}

export function createLogs(settings: LogSettings): Logs {
  let sink = sinkFor(settings);
  const log = pino({ level: settings.level, base: null }, { write: (line: string) => sink.write(line) });
  setInterval(() => sink.flush(), flushEveryMs).unref();
  process.on("exit", () => sink.flush());
  return {
    log,
    exchange: (facts) => {
      if (log.isLevelEnabled("info")) sink.exchange(facts, log);
    },
    flush: () => sink.flush(),
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
  const stream = pretty({ destination: standardError, sync: true, ignore: "pid,hostname", singleLine: true });
  return {
    write: (line) => stream.write(line),
    exchange: (facts, log) => log.info(prettyFields(facts), exchangeTitle(facts)),
    flush: () => undefined,
  };
}

/** Lines that are made one after the other find their code in the processor's caches; between requests none does. */
const exchangesTogether = 64;

/**
 * JSON lines are written in blocks. The exchange's line is put together as a string, because walking its
 * fields through the logger's serialisers costs four times as much, once per request.
 */
function jsonSink(): Sink {
  const blocks = new LineBlocks(standardError);
  const waiting: ExchangeFacts[] = [];
  const writeWaiting = () => {
    for (const facts of waiting) blocks.write(exchangeLine(facts));
    waiting.length = 0;
  };
  return {
    write: (line) => {
      writeWaiting();
      blocks.write(line);
    },
    exchange: (facts) => {
      waiting.push(facts);
      if (waiting.length >= exchangesTogether) writeWaiting();
    },
    flush: () => {
      writeWaiting();
      blocks.flush();
    },
  };
}

function exchangeLine(facts: ExchangeFacts): string {
  const { usage } = facts;
  let line = `{"level":30,"time":${facts.atMs},"msg":"exchange","request_id":"${facts.requestId}","key":${keyText(facts.keyPrefix)},"route":"${facts.route}","model":${quote(facts.model)},"deployment":${quote(facts.deployment)},"stream":${facts.stream},"status":${facts.status},"outcome":"${facts.outcome}"`;
  if (facts.errorCode !== null) line += `,"error":"${facts.errorCode}"`;
  if (facts.cause !== null) line += `,"cause":${JSON.stringify(facts.cause)}`;
  if (facts.callerRequestId !== null) line += `,"caller_request_id":${JSON.stringify(facts.callerRequestId)}`;
  if (usage !== null) {
    line += `,"input_tokens":${totalInput(usage)},"output_tokens":${usage.outputTokens},"charged":${facts.charged},"basis":"${facts.basis}"`;
  }
  if (facts.firstByteMs !== null) line += `,"first_byte_ms":${tenths(facts.firstByteMs)}`;
  if (facts.failedAttempts.length > 0) line += `,"failed_attempts":${failedAttempts(facts)}`;
  return `${line},"total_ms":${tenths(facts.totalMs)},"attempts":${facts.attempts}}\n`;
}

/** Without the provider's message: it may quote the prompt. */
function failedAttempts(facts: ExchangeFacts): string {
  return JSON.stringify(
    facts.failedAttempts.map(({ deployment, failure, cause, durationMs, left }) => ({
      deployment,
      failure,
      ...(cause === null ? {} : { cause }),
      ms: Math.round(durationMs),
      left,
    })),
  );
}

/** A key's prefix is letters, digits and `_`. */
function keyText(prefix: string | null): string {
  return prefix === null ? "null" : `"${prefix}"`;
}

/** Models and deployments come from the configuration, so there are only so many, and each comes again and again. */
const quoted = new Map<string, string>();

function quote(text: string | null): string {
  if (text === null) return "null";
  let known = quoted.get(text);
  if (known === undefined) {
    known = JSON.stringify(text);
    quoted.set(text, known);
  }
  return known;
}

/** As text right away: a whole number and a digit are written faster than the fraction that they make. */
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
  const fields: Record<string, unknown> = { request: facts.requestId };
  if (facts.keyPrefix !== null) fields["key"] = facts.keyPrefix;
  if (facts.model !== null) fields["model"] = facts.model;
  if (facts.deployment !== null) fields["deployment"] = facts.deployment;
  if (facts.usage !== null) {
    fields["tokens"] = `${totalInput(facts.usage)}+${facts.usage.outputTokens}`;
    fields["charged"] = facts.charged;
  }
  if (facts.cause !== null) fields["cause"] = facts.cause;
  if (facts.failedAttempts.length > 0) {
    fields["failed"] = facts.failedAttempts
      .map(({ deployment, failure }) => `${deployment} ${failure}`)
      .join(", ");
  }
  return fields;
}
