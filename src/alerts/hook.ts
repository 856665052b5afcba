import { createHmac } from "node:crypto";
import { abortAfter } from "../base/loop/deadline.ts";
import { systemCode } from "../base/system/system-code.ts";
import type { Settings } from "../config/settings.ts";
import { type OnceRequest, sendOnce } from "../wire/send-once.ts";
import { chatText } from "./alert-changes.ts";

/** An address to post to, and the secret that signs the posts. */
export type Hook = Pick<NonNullable<Settings["alerts"]>, "url" | "secret">;

const timeoutMs = 10_000;

/** Posts an alert. Returns null if the webhook has accepted it, else the reason as text. */
export async function postToHook(
  hook: Hook,
  body: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<string | null> {
  return (await postSigned(hook, { body, nowMs, signal })).problem;
}

interface SignedPost {
  readonly body: string;
  readonly nowMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface PostResult {
  /** Null without a response. */
  readonly status: number | null;
  /**
   * Null if the receiver has accepted the post. The text never contains the receiver's address, which works as a secret:
   * knowing it is enough to post there.
   */
  readonly problem: string | null;
}

/** Posts JSON to an operator's receiver, signed if there is a secret. */
export async function postSigned(
  { url, secret }: Hook,
  { body, nowMs, headers, signal }: SignedPost,
): Promise<PostResult> {
  const sent = {
    "content-type": "application/json",
    "user-agent": "sluice",
    ...(secret === null ? {} : { "x-sluice-signature": signature(secret, body, nowMs) }),
    ...headers,
  };
  const signals = [abortAfter(timeoutMs), ...(signal === undefined ? [] : [signal])];
  try {
    const request = { method: "POST", headers: sent, body };
    const status = await statusOf(new URL(url), request, AbortSignal.any(signals));
    return { status, problem: status >= 200 && status < 300 ? null : `returned ${status}` };
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const problem = isLate ? "timed out" : `cannot be reached (${systemCode(error) ?? "no reason given"})`;
    return { status: null, problem };
  }
}

/** Reads only the head of the response, whose status shows whether the webhook accepted the post. */
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
