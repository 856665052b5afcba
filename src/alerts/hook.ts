import { createHmac } from "node:crypto";
import { abortAfter } from "../base/loop/deadline.ts";
import { systemCode } from "../base/system/system-code.ts";
import type { Settings } from "../config/settings.ts";
import { type OnceRequest, sendOnce } from "../wire/send-once.ts";
import { chatText } from "./alert-changes.ts";

export type Hook = NonNullable<Settings["alerts"]>;

const timeoutMs = 10_000;

/**
 * Posts a body to the operator's webhook. Returns null if it was accepted, else the reason as text. The text never contains
 * the webhook's address, which works as a secret: knowing it is enough to post there.
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
  try {
    const status = await statusOf(new URL(url), { method: "POST", headers, body }, AbortSignal.any(signals));
    return status >= 200 && status < 300 ? null : `returned ${status}`;
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    return isLate ? "timed out" : `cannot be reached (${systemCode(error) ?? "no reason given"})`;
  }
}

/** Reads only the head of the response, which says whether the webhook accepted the post. */
function statusOf(url: URL, request: OnceRequest, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const transfer = sendOnce(url, request, {
      connected() {},
      answered({ status }) {
        resolve(status);
        transfer.cancel();
      },
      received() {},
      ended() {},
      failed: reject,
    });
    signal.addEventListener("abort", () => {
      transfer.cancel();
      reject(signal.reason);
    });
  });
}

/** The time is signed with the body, so that a receiver can reject a replay. */
export function signature(secret: string, body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}

/** A test alert in the usual format. */
export function testAlert(node: string, nowMs: number): string {
  return JSON.stringify({
    text: chatText(`This is a test alert from gateway ${node}.`),
    kind: "test",
    state: "firing",
    subject: { type: "node", id: node, label: node },
    at: new Date(nowMs).toISOString(),
    details: {},
  });
}
