import { isObject, type Json } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import type { Turn } from "./turn-body.ts";
import type { TurnReader, Turns } from "./turns.ts";

/**
 * The items of the stored conversation that a request has continued, oldest first, as one JSON list. Null if it continued none, or some of
 * it is gone. `response` is what was recorded of the response.
 */
export async function storedBefore(
  { turns, settings }: { readonly turns: Turns; readonly settings: Settings },
  keyId: string,
  { request, response }: { readonly request: Json; readonly response: Json },
): Promise<string | null> {
  const reader: TurnReader = { keyId, settings, reserve: () => {} };
  // A conversation that has become too long to be continued is not shown either.
  const before = await turnsBefore().catch(() => null);
  if (before === null || before.length === 0) return null;
  const items = before.flatMap(({ input, output }) => [...input, ...output]);
  return `[${items.map(({ raw }) => Buffer.from(raw).toString()).join(",")}]`;

  async function turnsBefore(): Promise<readonly Turn[] | null> {
    const own = isObject(response) ? response["id"] : null;
    const turn = typeof own === "string" ? await turns.find(reader, own) : null;
    if (turn !== null) return turns.before(reader, turn);
    const parent = isObject(request) ? request["previous_response_id"] : null;
    return typeof parent === "string" ? turns.chain(reader, parent) : null;
  }
}
