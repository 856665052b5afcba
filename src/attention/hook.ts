import { createHmac } from "node:crypto";
import { abortAfter } from "../base/deadline.ts";
import { systemCode } from "../base/system-code.ts";
import type { Settings } from "../config/settings.ts";
import { isBehindProxy } from "../wire/proxy.ts";
import { chatText } from "./alert-changes.ts";

export type Hook = NonNullable<Settings["alerts"]>;

const timeoutMs = 10_000;
const direct = new Bun.FetchSession({ proxy: false });

/**
 * Posts a body to the operator's hook. Returns null once it was accepted, else why not, in words that do not have the
 * hook's address: who knows it may post there.
 */
export async function postToHook(
  { url, secret }: Hook,
  body: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<string | null> {
  const headers = {
    "content-type": "application/json",
    "user-agent": "sluice",
    ...(secret === null ? {} : { "x-sluice-signature": signature(secret, body, nowMs) }),
  };
  const signals = [abortAfter(timeoutMs), ...(signal === undefined ? [] : [signal])];
  const session = isBehindProxy(new URL(url)) ? {} : { session: direct };
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.any(signals),
      ...session,
    });
    await answer.body?.cancel();
    return answer.ok ? null : `it answers ${answer.status}`;
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    return isLate
      ? "it does not answer in time"
      : `it cannot be reached (${systemCode(error) ?? "no reason given"})`;
  }
}

/** The time is signed with the body, so that a receiver can reject a replay. */
export function signature(secret: string, body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}

/** An alert about nothing, in the form of all others. */
export function testAlert(node: string, nowMs: number): string {
  return JSON.stringify({
    text: chatText(`This is a test of the alerts of the gateway ${node}.`),
    kind: "test",
    state: "begin",
    subject: { type: "node", id: node, label: node },
    at: new Date(nowMs).toISOString(),
    details: {},
  });
}
