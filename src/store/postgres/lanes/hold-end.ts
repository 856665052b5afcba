import { asBuffer } from "../../../base/bytes.ts";
import type { ChargeOrder } from "../../node.ts";
import type { StoredResponse, TurnRecord } from "../../records.ts";
import type { EndedHold } from "../../shared-batch.ts";
import { responseRow } from "../../written-rows.ts";

type Column = string | number | boolean | null;
type TurnColumns = Readonly<Record<string, Column | readonly string[]>>;

/** The end of a hold, with what is written for it. Plain JSON, because it may be kept in a file. */
export interface HoldEnd extends EndedHold {
  readonly response: ReturnType<typeof storedRow> | null;
  readonly turns?: readonly TurnColumns[] | undefined;
}

export function releaseOf(holdId: string, keyId: string): HoldEnd {
  return { id: holdId, key: keyId, charge: null, response: null };
}

export function endOf({ holdId: id, keyId: key, response, turns, rates, ...charge }: ChargeOrder): HoldEnd {
  return {
    id,
    key,
    charge: { ...charge, rates: { id: rates.id, text: rates.text } },
    response: response && storedRow(id, response),
    turns: turns?.map(turnOf),
  };
}

/** Its first columns identify the claim that it ends. */
export function storedRow(id: string, response: StoredResponse) {
  return { id, key: response.keyId, ...responseRow(response), body: base64(response.body) };
}

function base64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64");
}

/** A turn in the form that `sluice_keep_turns` takes. */
export function turnOf(turn: TurnRecord): TurnColumns {
  return {
    key: turn.keyId,
    id: turn.id,
    parent: turn.parentId,
    model: turn.model,
    provider: turn.provider,
    created: turn.createdAtMs,
    expires: turn.expiresAtMs,
    bytes: turn.bytes,
    items: turn.items,
    recording_id: turn.recording?.id ?? null,
    parts: turn.recording?.parts ?? 0,
    body: base64(turn.body),
    request: turn.request === undefined ? null : base64(turn.request),
    key_bytes: turn.keyBytes,
    replaces: turn.replaces ?? null,
  };
}
