import type { CustomFetch } from "openid-client";
import { abortAfter } from "../../base/loop/deadline.ts";
import { collectAnswer } from "../../wire/collect.ts";
import { sendOnce } from "../../wire/send-once.ts";

const timeoutMs = 10_000;
/** The headers that the OpenID client reads. */
const readHeaders = ["content-type", "www-authenticate", "dpop-nonce"];

/** A `fetch` for the OpenID client on a connection of its own: clients' uploads can fill the slots of the real one. */
export const askIssuer: CustomFetch = async (url, { method, headers, body, signal }) => {
  const sent = body === undefined || body === null ? null : await new Response(body).text();
  const request = { method, headers: { ...headers, "accept-encoding": "identity" }, body: sent };
  const answer = await collectAnswer(
    (receiver) => sendOnce(new URL(url), request, receiver),
    signal ?? abortAfter(timeoutMs),
  );
  const received = new Headers();
  for (const name of readHeaders) {
    const value = answer.head.get(name);
    if (value !== null) received.set(name, value);
  }
  return new Response(answer.text === "" ? null : answer.text, { status: answer.status, headers: received });
};
