import type { ResponsePart, StoredResponse } from "../../src/store/store.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

export function responseOf(keyId: string, overrides: Partial<StoredResponse> = {}): StoredResponse {
  return {
    keyId,
    route: "/v1/messages",
    idempotencyKey: "once",
    bodyHash: "hash",
    status: 200,
    headers: { "content-type": "application/json" },
    body: bytes("tail"),
    storedAtMs: 1_000,
    ...overrides,
  };
}

export function responsePart(recordingId: string, sequence: number, text: string): ResponsePart {
  return { recordingId, sequence, body: bytes(text) };
}
