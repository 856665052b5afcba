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
}

const flushEveryMs = 200;

/** Logs go to standard error, so that standard output stays for what people and programs were promised there. */
const standardError = 2;

export function createLogs(settings: LogSettings): Logs {
  const usePretty =
    settings.format === "pretty" || (settings.format === "auto" && process.stderr.isTTY === true);
  return usePretty ? prettyLogs(settings.level) : jsonLogs(settings.level);
}

function prettyLogs(level: string): Logs {
  const stream = pretty({ destination: standardError, sync: true, ignore: "pid,hostname", singleLine: true });
  const log = pino({ level }, stream);
  return {
    log,
    exchange: (facts) => {
      if (log.isLevelEnabled("info")) log.info(prettyFields(facts), exchangeTitle(facts));
    },
    flush: () => undefined,
  };
}

/**
 * JSON lines are written in blocks. The exchange's line is put together as a string, because walking its
 * fields through the logger's serialisers costs four times as much, once per request.
 */
function jsonLogs(level: string): Logs {
  const blocks = new LineBlocks(standardError);
  const log = pino({ level, base: null }, blocks);
  const flush = () => blocks.flush();
  setInterval(flush, flushEveryMs).unref();
  process.on("exit", flush);
  return {
    log,
    exchange: (facts) => {
      if (log.isLevelEnabled("info")) blocks.write(exchangeLine(facts));
    },
    flush,
  };
}

function exchangeLine(facts: ExchangeFacts): string {
  const usage = facts.usage;
  let line = `{"level":30,"time":${facts.atMs},"msg":"exchange","request_id":"${facts.requestId}"`;
  line += `,"key":${quote(facts.keyPrefix)},"route":"${facts.route}","model":${quote(facts.model)}`;
  line += `,"deployment":${quote(facts.deployment)},"stream":${facts.stream},"status":${facts.status}`;
  line += `,"outcome":"${facts.outcome}"`;
  if (facts.errorCode !== null) line += `,"error":"${facts.errorCode}"`;
  if (facts.cause !== null) line += `,"cause":${JSON.stringify(facts.cause)}`;
  if (facts.callerRequestId !== null) line += `,"caller_request_id":${JSON.stringify(facts.callerRequestId)}`;
  if (usage !== null) {
    line += `,"input_tokens":${totalInput(usage)},"output_tokens":${usage.outputTokens}`;
    line += `,"charged":${facts.charged},"basis":"${facts.basis}"`;
  }
  if (facts.firstByteMs !== null) line += `,"first_byte_ms":${tenths(facts.firstByteMs)}`;
  return `${line},"total_ms":${tenths(facts.totalMs)},"attempts":${facts.attempts}}\n`;
}

function quote(text: string | null): string {
  return text === null ? "null" : JSON.stringify(text);
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
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
  return fields;
}
