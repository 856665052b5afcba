import type { Settings } from "../../config/settings.ts";
import type { RecordedTurn } from "../../content/recorded-turn.ts";
import type { Turn } from "./turn-body.ts";
import type { TurnReader, Turns } from "./turns.ts";

/**
 * The items of the stored conversation that a request has continued, oldest first, as one JSON list. Null if it
 * continued none, or some of it is gone.
 */
export async function storedBefore(
  { turns, settings }: { readonly turns: Turns; readonly settings: Settings },
  keyId: string,
  { responseId, previousResponseId }: RecordedTurn,
): Promise<string | null> {
  const reader: TurnReader = { keyId, settings, reserve: () => {} };
  // A conversation that has become too long to be continued is not shown either.
  const before = await turnsBefore().catch(() => null);
  if (before === null || before.length === 0) return null;
  const items = before.flatMap(({ input, output }) => [...input, ...output]);
  return `[${items.map(({ raw }) => Buffer.from(raw).toString()).join(",")}]`;

  async function turnsBefore(): Promise<readonly Turn[] | null> {
    const turn = responseId === null ? null : await turns.find(reader, responseId);
    if (turn !== null) return turns.before(reader, turn);
    return previousResponseId === null ? null : turns.chain(reader, previousResponseId);
  }
}
